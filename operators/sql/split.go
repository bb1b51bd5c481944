package sql

import (
	"regexp"
	"strings"
	"sync"
)

// apart are the parts of SQL in which a semicolon separates nothing, and what does. A
// backslash in a text takes the next character with it, as Redshift has it.
var (
	apart = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?s)^(?:'(?:[^'\\]|\\.|'')*'|"(?:[^"]|"")*"|--[^\n]*)`)
	})
	dollar = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\$(?:[A-Za-z_][A-Za-z_0-9]*)?\$`) })
)

// Split takes a script apart into its statements, without the empty ones.
func Split(script string) []string {
	var list []string
	from, says := 0, false // something that is no comment
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

// token is the length of what SQL begins with, and whether that says anything.
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

// comment is the length of one that may have others in it.
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
