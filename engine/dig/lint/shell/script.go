// Package shell finds text in a script that the shell reads differently than its author.
//
// Package lint uses it for scripts of tasks. It works on text and has no notion of workflows.
package shell

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"zerodag/engine/dig/letters"
)

// Constructs in an sh> script that mean something else, or nothing, to the shell that runs it.
var (
	ofBash = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)(?:^|[;&|(]|\b(?:if|elif|while|until|then|do|else)\b|!)[ \t]*(\[\[|source|declare|pushd|popd|shopt|mapfile|readarray)[ \t]`)
	})
	bashForms = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)<<<|[<>]\(|^[ \t]*\w+\+?=\([^()]*\)[ \t]*$|&>|\|&`)
	})
	typedDash = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:^|\s)([‐-―−]+)[A-Za-z0-9]`) })
	prompt    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^\s*\$ +[A-Za-z./]`) })
	asksUser  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)(?:^|[;&|]|\b(?:then|do|else)\b)[ \t]*read[ \t]+(?:-\w+[ \t]+)*-\w*p\b`)
	})
	hereDocument = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<<(-?)[ \t]*(['"]?)([A-Za-z_]\w*)(['"]?)`) })
	forWords     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bfor\s+\w+\s+in\s+\$\{\s*(\w+)\s*\}`) })
	keyLine      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^(_?[a-z][a-z_]*):(?: |$)`) })
	assigns      = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)(?:(?:^|[;&|(]|\bdo\b|\bthen\b)\s*(?:export\s+|local\s+)?([A-Za-z_]\w*)=|\bfor\s+([A-Za-z_]\w*)\s+in\b|\bread\s+(?:-r\s+)?([A-Za-z_]\w*))`)
	})
	ofActions = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\$\{?(GITHUB_ENV|GITHUB_OUTPUT|GITHUB_PATH|GITHUB_STEP_SUMMARY|DAGU_OUTPUT)\b|::(set-output|set-env) `)
	})
	quoteStart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:^|[\s=(])([“”„‘])`) })
	onlyCD     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^cd\s+[^;&|\n]+$`) })
	onlyExport = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^export\s+\w+=[^;&|\n]*$`) })
	written    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`>>?\s*([\w][\w./-]*\.\w+)(?:\s|$)`) })
)

// Slip is a part of a script that its author probably did not intend.
type Slip struct{ Message, Hint string }

// Slips returns a script's likely mistakes that can be found without knowing its task; inSh means that /bin/sh runs it, unless the
// script names a program itself.
func Slips(script string, inSh bool) (found []Slip) {
	add := func(is bool, message, hint string) {
		if is {
			found = append(found, Slip{message, hint})
		}
	}
	trimmed, plain := strings.TrimSpace(script), bare(script)
	inDocument := strings.Contains(plain, "<<")
	add(onlyCD().MatchString(trimmed), "cd only affects its own task: the next task starts in the project folder", "write `_workdir: FOLDER` in the tasks that should run there")
	add(onlyExport().MatchString(trimmed), "a shell variable only exists in its own task: the next task does not see it", "set the variable in `_env` or `_export` of the tasks that read it")
	if !inDocument {
		found = append(found, characters(plain)...)
		add(prompt().MatchString(script), "a line of the script begins with a terminal prompt $, which is not a command", "remove the $ before the command")
	}
	if inSh && !strings.HasPrefix(trimmed, "#!") && !inDocument {
		found = append(found, bashOnly(plain)...)
	}
	add(asksUser().MatchString(plain), "read gets no input: commands have no terminal", "pass the value as a parameter: `-p NAME=VALUE`, and use $NAME in the script")
	word := endlessDocument(script)
	add(word != "", "the text after << has no end: there are spaces before "+word, "write "+word+" at the beginning of its line, aligned with the first line of the script")
	return found
}

// bashOnly finds forms that only bash supports.
func bashOnly(plain string) []Slip {
	if m := ofBash().FindStringSubmatch(plain); m != nil {
		hint := "write `shell: [bash]`"
		if m[1] == "source" {
			hint = "write . instead of source, or `shell: [bash]`; variables set by the file only exist in this task"
		}
		return []Slip{{m[1] + " is a bash command, which /bin/sh may not have", hint}}
	}
	if form := bashForms().FindString(plain); form != "" {
		return []Slip{{strings.TrimSpace(form) + " is bash syntax, which /bin/sh may not understand", "write `shell: [bash]`"}}
	}
	return nil
}

// characters finds the first character that a shell reads as part of a word, contrary to the author's intent, in a
// script without quoted text.
func characters(plain string) []Slip {
	for line := range strings.Lines(plain) {
		line = strings.TrimRight(line, " \t\r\n")
		first, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		space := strings.IndexFunc(line, func(r rune) bool {
			return r == letters.NoBreakSpace || r == letters.IdeographicSpace || letters.IsInvisible(r) && r != '\u200d'
		})
		prints := first == "echo" || first == "printf"
		dash, quote := typedDash().FindStringSubmatch(line), quoteStart().FindStringSubmatch(line)
		switch {
		case space >= 0 && !prints:
			r, _ := utf8.DecodeRuneInString(line[space:])
			return []Slip{{"the script has " + letters.NameOf(r) + ", which the shell reads as part of a word", letters.Remedy(r)}}
		case dash != nil && !prints:
			r, _ := utf8.DecodeRuneInString(dash[1])
			return []Slip{{"the script has " + letters.NameOf(r) + ", which does not begin an option", "write - or --"}}
		case quote != nil && (!prints || quotesAll(strings.TrimSpace(rest), line)): // otherwise it may be text
			r, _ := utf8.DecodeRuneInString(quote[1])
			return []Slip{{"the script has " + letters.NameOf(r) + ", which does not quote and is read as part of a word", letters.Remedy(r)}}
		}
	}
	return nil
}

// quotesAll reports whether typographic quotes enclose the text at the end of a line.
func quotesAll(text, line string) bool {
	begin, _ := utf8.DecodeRuneInString(text)
	last, _ := utf8.DecodeLastRuneInString(line)
	return strings.ContainsRune("“„‘", begin) && strings.ContainsRune("“”’", last)
}

// bare returns a script without its comments and quoted text.
func bare(script string) string {
	out := []byte(script)
	var quote byte
	for i := 0; i < len(out); i++ {
		switch c := script[i]; {
		case c == '\\' && quote != '\'' && i+1 < len(out) && script[i+1] != '\n':
			out[i], out[i+1] = 'x', 'x'
			i++
		case quote != 0 && c == '\n':
			out[i] = ' '
		case quote != 0:
			if out[i] = 'x'; c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote, out[i] = c, 'x'
		case c == '#' && (i == 0 || strings.IndexByte(" \t\n;", script[i-1]) >= 0):
			comment, _, _ := strings.Cut(script[i:], "\n")
			copy(out[i:], strings.Repeat(" ", len(comment)))
			i += len(comment)
		}
	}
	return string(out)
}

// endlessDocument returns the word that should end the text after <<, if it appears only with spaces in front of it.
func endlessDocument(script string) string {
	lines := strings.Split(script, "\n")
	for i, line := range lines {
		m := hereDocument().FindStringSubmatchIndex(line)
		if m == nil || m[0] > 0 && line[m[0]-1] == '<' {
			continue
		}
		tabs, word := line[m[2]:m[3]] == "-", line[m[6]:m[7]]
		indented := false
		for _, end := range lines[i+1:] {
			if tabs {
				end = strings.TrimLeft(end, "\t")
			}
			if end == word {
				indented = false
				break
			}
			indented = indented || strings.TrimSpace(end) == word
		}
		if indented {
			return word
		}
	}
	return ""
}
