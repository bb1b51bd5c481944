package dig

import (
	"bytes"
	"fmt"
	"strings"

	"zerodag/engine/dig/keys"
)

// EnvVariable is a variable from a file, with `${secret:...}` not yet replaced.
type EnvVariable struct{ Name, Value string }

const (
	envLineForm  = "write KEY=value on each line; # begins a comment"
	envQuoteForm = `text in "..." or '...' ends on the same line; in "..." write a line break as \n`
)

// ReadEnvFile reads the lines of a variable file: KEY=value, optionally after `export`. A value is the text up to a
// comment, or quoted text; in double quotes, \n, \r, \t, \", \$ and \\ are escapes. A repeated name appears twice in
// the list; the later one wins. All mistakes are reported together, as Errors with their lines.
func ReadEnvFile(file string, text []byte) ([]EnvVariable, error) {
	if len(text) > keys.MaxEnvFile {
		return nil, Errors{{File: file, Message: fmt.Sprintf("An environment file may have at most %d bytes, but this one has %d", keys.MaxEnvFile, len(text)), Hint: "let commands read a data file instead"}}
	}
	var list []EnvVariable
	var errs Errors
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		v, message, hint := envLine(line)
		switch {
		case message != "" && len(errs) < maxReported:
			errs = append(errs, Error{File: file, Line: i + 1, Column: 1, Message: message, Hint: hint})
		case message == "":
			list = append(list, v)
		}
	}
	if err := errs.AsError(); err != nil {
		return nil, err
	}
	return list, nil
}

// envLine reads one line that is not a comment. Mistakes are reported without the value, which may be a secret.
func envLine(line string) (v EnvVariable, message, hint string) {
	if rest, ok := strings.CutPrefix(line, "export"); ok && strings.TrimLeft(rest, " \t") != rest {
		line = strings.TrimLeft(rest, " \t")
	}
	name, value, there := strings.Cut(line, "=")
	v.Name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	switch {
	case !there:
		return v, "the line has no =", envLineForm
	case !keys.EnvName().MatchString(v.Name):
		return v, "'" + v.Name + "' is not a valid variable name", "use letters, digits and _"
	case strings.Contains(value, "\x00"):
		return v, "the value of " + v.Name + " contains a NUL byte, which variables cannot hold", envLineForm
	}
	ok, rest := true, ""
	switch {
	case strings.HasPrefix(value, "'"):
		v.Value, rest, ok = strings.Cut(value[1:], "'")
	case strings.HasPrefix(value, `"`):
		v.Value, rest, ok = unquoteEnv(value[1:])
	default:
		v.Value = withoutComment(value)
	}
	if rest = strings.TrimSpace(rest); !ok || rest != "" && rest[0] != '#' {
		return v, "the quotes around the value of " + v.Name + " do not match", envQuoteForm
	}
	return v, "", ""
}

// withoutComment ends a value at white space and # that begin a comment.
func withoutComment(value string) string {
	for i := range len(value) {
		if value[i] == '#' && (i == 0 || value[i-1] == ' ' || value[i-1] == '\t') {
			return strings.TrimSpace(value[:i])
		}
	}
	return value
}

// unquoteEnv reads up to the closing double quote.
func unquoteEnv(text string) (value, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return b.String(), text[i+1:], true
		case c == '\\' && i+1 < len(text):
			i++
			switch e := text[i]; e {
			case 'n':
				b.WriteByte('\n')
			case 'r':
				b.WriteByte('\r')
			case 't':
				b.WriteByte('\t')
			case '"', '\\', '$':
				b.WriteByte(e)
			default: // as in shells: other escapes are kept as they are
				b.WriteByte('\\')
				b.WriteByte(e)
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}
