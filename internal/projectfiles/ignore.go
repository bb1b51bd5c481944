package projectfiles

import (
	"regexp"
	"strings"
)

// ignorePattern is one line of an ignore file, which has the format of `.gitignore`.
type ignorePattern struct {
	file     string
	line     int
	match    *regexp.Regexp // matches a whole name
	include  bool           // "!": matching files belong to the project after all
	dirsOnly bool
}

// ignorePatterns holds the lines in order; the last matching one counts. The files of an ignored folder are never
// tested.
type ignorePatterns []ignorePattern

func parseIgnore(file, text string) ignorePatterns {
	var all ignorePatterns
	number := 0
	for line := range strings.Lines(text) {
		number++
		if p, ok := parseIgnoreLine(strings.TrimRight(line, "\r\n")); ok {
			p.file, p.line = file, number
			all = append(all, p)
		}
	}
	return all
}

func (all ignorePatterns) ignores(name string, isDir bool) bool {
	p := all.last(name, isDir)
	return p != nil && !p.include
}

// last returns the last line that matches a name, or nil if none does.
func (all ignorePatterns) last(name string, isDir bool) *ignorePattern {
	for i := len(all) - 1; i >= 0; i-- {
		if p := &all[i]; (isDir || !p.dirsOnly) && p.match.MatchString(name) {
			return p
		}
	}
	return nil
}

// parseIgnoreLine reads one line; it returns false for comments and for lines that can match nothing.
func parseIgnoreLine(line string) (ignorePattern, bool) {
	var p ignorePattern
	line = trimBlanks(line)
	if strings.HasPrefix(line, "#") {
		return p, false
	}
	line, p.include = strings.CutPrefix(line, "!")
	line, p.dirsOnly = strings.CutSuffix(line, "/")
	anchored := strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return p, false
	}
	var form strings.Builder
	form.WriteString(`(?s)\A`)
	if !anchored {
		form.WriteString(`(?:.*/)?`)
	}
	if !translate(&form, line) {
		return p, false
	}
	form.WriteString(`\z`)
	var err error
	p.match, err = regexp.Compile(form.String())
	return p, err == nil
}

// trimBlanks removes trailing spaces unless a backslash precedes them.
func trimBlanks(line string) string {
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	return line
}

// translate writes a pattern as a regular expression; it returns false if the pattern can match nothing.
func translate(form *strings.Builder, pattern string) bool {
	for i := 0; i < len(pattern); {
		rest := pattern[i:]
		atStart := i == 0 || pattern[i-1] == '/'
		after := strings.TrimLeft(rest, "*")
		stars := len(rest) - len(after)
		switch {
		case atStart && stars > 1 && strings.HasPrefix(after, "/"):
			form.WriteString(`(?:.*/)?`)
			i += stars + 1
		case atStart && stars > 1 && after == "":
			form.WriteString(`.*`)
			i += stars
		case rest[0] == '*':
			form.WriteString(`[^/]*`)
			i++
		case rest[0] == '?':
			form.WriteString(`[^/]`)
			i++
		case rest[0] == '[':
			n := translateClass(form, rest)
			if n == 0 {
				return false
			}
			i += n
		default:
			if rest[0] == '\\' {
				i++
			}
			if i == len(pattern) {
				return false
			}
			form.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
			i++
		}
	}
	return true
}

// translateClass writes the character class, such as "[a-z]", with which pattern begins. It returns the length of the
// class, or 0 if the class has no end.
func translateClass(form *strings.Builder, pattern string) int {
	i := 1
	negated := i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^')
	var class strings.Builder
	class.WriteByte('[')
	if negated {
		class.WriteString("^/")
		i++
	}
	for first := true; i < len(pattern); first = false {
		c := pattern[i]
		switch {
		case c == ']' && !first:
			form.WriteString(class.String() + "]")
			return i + 1
		case c == '[' && strings.HasPrefix(pattern[i:], "[:") && strings.Contains(pattern[i:], ":]"):
			n := strings.Index(pattern[i:], ":]") + len(":]")
			class.WriteString(pattern[i : i+n])
			i += n
			continue
		case c == '\\' && i+1 < len(pattern):
			i++
			class.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		case c == '-':
			class.WriteByte('-')
		default:
			class.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		}
		i++
	}
	return 0
}
