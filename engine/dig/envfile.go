package dig

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"zerodag/engine/param"
)

// envFilesKey names files with variables for the commands of a task, or of all below a group.
const envFilesKey = "_env_files"

// MaxEnvFile is how many bytes a file of variables may have: a command takes few more on any system.
const MaxEnvFile = 64 << 10

// EnvFile is a file of variables that `_env_files` names.
type EnvFile struct {
	Name     string // slash path, from the project's folder
	Optional bool   // it may be missing
}

const envFilesForm = "write names of files of the project: `_env_files: [env/common, 'env/${stage}', 'env/local?']`; one that ends with ? may be missing"

// ParseEnvFiles reads an evaluated `_env_files`.
func ParseEnvFiles(v param.Value) (files []EnvFile, err error) {
	for _, v := range ListOf(v) {
		f, fault, _ := envFileOf(v, false)
		if fault != "" {
			return nil, param.Errorf("%s: %s", envFilesKey, fault)
		}
		files = append(files, f)
	}
	return files, nil
}

// ListOf is a value as a list: a list itself, nothing for none, and else a list with that value.
func ListOf(v param.Value) []param.Value {
	switch x := v.(type) {
	case nil:
		return nil
	case []param.Value:
		return x
	}
	return []param.Value{v}
}

// checkEnvFiles wants names of files that a push takes along.
func checkEnvFiles(key string, v param.Value, report func([]string, string, string)) {
	list := ListOf(v)
	if len(list) == 0 {
		report(nil, "'"+key+"' names no file", envFilesForm)
	}
	for _, v := range list {
		if _, fault, hint := envFileOf(v, true); fault != "" {
			report(nil, fault, hint)
			return
		}
	}
}

// envFileOf reads one name; with open, `${...}` may stand for anything.
func envFileOf(v param.Value, open bool) (f EnvFile, fault, hint string) {
	text, ok := v.(string)
	f.Name, f.Optional = strings.CutSuffix(text, "?")
	switch {
	case !ok || f.Name == "":
		return f, "a file of variables must be named: " + sample(v), envFilesForm
	case open && strings.Contains(text, "${"):
		return f, "", ""
	case path.IsAbs(f.Name) || strings.Contains(f.Name, "\\"):
		return f, "a file of variables is one of the project: " + sample(v), envFilesForm
	}
	f.Name = path.Clean(f.Name)
	for part := range strings.SplitSeq(f.Name, "/") {
		switch {
		case part == ".." || f.Name == ".":
			return f, "a file of variables is one of the project: " + sample(v), envFilesForm
		case strings.HasPrefix(part, "."):
			return f, "files whose name begins with a dot are never pushed: " + sample(v), "give it another name, or name it at `zerodag run --env-file " + f.Name + "`"
		}
	}
	return f, "", ""
}

// EnvVariable is a variable of a file, in which `${secret:...}` is not replaced yet.
type EnvVariable struct{ Name, Value string }

const (
	envLineForm  = "write KEY=value in each line; # begins a comment"
	envQuoteForm = `a text in "..." or '...' ends in the same line; in "..." \n stands for the end of one`
)

// ReadEnvFile reads the lines of a file of variables: KEY=value, with or without `export` before it. A value is what
// follows up to a comment, or a text in quotes; in double ones \n, \r, \t, \", \$ and \\ are read. A name that comes twice
// is in the list twice, the later one wins. Whatever is wrong is reported together, as Errors with their lines.
func ReadEnvFile(file string, text []byte) ([]EnvVariable, error) {
	if len(text) > MaxEnvFile {
		return nil, Errors{{File: file, Message: fmt.Sprintf("A file of variables has at most %d bytes, and this one has %d", MaxEnvFile, len(text)), Hint: "give commands a file to read in place of variables"}}
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
	if err := errs.asError(); err != nil {
		return nil, err
	}
	return list, nil
}

// envLine reads one line, which is no comment. What is wrong is told without the value: it may be a secret.
func envLine(line string) (v EnvVariable, message, hint string) {
	if rest, ok := strings.CutPrefix(line, "export"); ok && strings.TrimLeft(rest, " \t") != rest {
		line = strings.TrimLeft(rest, " \t")
	}
	name, value, there := strings.Cut(line, "=")
	v.Name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	switch {
	case !there:
		return v, "the line has no =", envLineForm
	case !envName().MatchString(v.Name):
		return v, "'" + v.Name + "' is no name of a variable", "write it with letters, digits and _"
	case strings.Contains(value, "\x00"):
		return v, "the value of " + v.Name + " has a NUL, which no variable can have", envLineForm
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

// withoutComment ends a value where white space and # begin a comment.
func withoutComment(value string) string {
	for i := range len(value) {
		if value[i] == '#' && (i == 0 || value[i-1] == ' ' || value[i-1] == '\t') {
			return strings.TrimSpace(value[:i])
		}
	}
	return value
}

// unquoteEnv reads up to the double quote that ends a text.
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
			default: // as shells do: others stay as they are
				b.WriteByte('\\')
				b.WriteByte(e)
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}
