package sql

import (
	"regexp"
	"strings"
	"sync"
)

// apart matches the parts of SQL in which a semicolon is not a separator, as well as all other tokens. In text, a backslash
// escapes the next character, as in Redshift.
var (
	apart = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?s)^(?:'(?:[^'\\]|\\.|'')*'|"(?:[^"]|"")*"|--[^\n]*)`)
	})
	dollar = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\$(?:[A-Za-z_][A-Za-z_0-9]*)?\$`) })
)

// Split splits a script into its statements, without empty ones.
func Split(script string) []string {
	var list []string
	from, says := 0, false // something other than comments
	end := func(at int) {
		if says {
			list = append(list, strings.TrimSpace(script[from:at]))
		}
		from, says = at+1, false
	}
	for i := 0; i < len(script); {
		rest := script[i:]
		n, counts := token(rest)
		if n == 1 && rest[0] == ';' {
			end(i)
		} else if counts {
			says = true
		}
		i += n
	}
	end(len(script))
	return list
}

// token returns the length of the first token of SQL, and whether it is more than a comment.
func token(sql string) (int, bool) {
	if strings.HasPrefix(sql, "/*") {
		return comment(sql), false
	}
	if part := apart().FindString(sql); part != "" {
		return len(part), !strings.HasPrefix(part, "--")
	}
	if quote := dollar().FindString(sql); quote != "" {
		if n := strings.Index(sql[len(quote):], quote); n >= 0 {
			return n + 2*len(quote), true
		}
	}
	return 1, !strings.ContainsRune(" \t\r\n\f;", rune(sql[0]))
}

// comment returns the length of a comment that may be nested.
func comment(sql string) int {
	depth := 0
	for i := 0; i+1 < len(sql); i++ {
		switch sql[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			i++
		}
		if depth == 0 {
			return i + 1
		}
	}
	return len(sql)
}
