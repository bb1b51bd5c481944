package dig

import (
	"bytes"
	"fmt"
	"regexp"
	"sort"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"
)

// mostSearched limits the text that is searched for the line of a fault: each step of the search parses a part of it.
const mostSearched = 256 << 10

// faultLine finds the line at which the parser gave up with an error: the last line of the shortest prefix of the text
// that fails in the same way. The library only reports where the enclosing block begins.
func faultLine(text []byte, err error) (line int, found bool) {
	if len(text) > mostSearched {
		return 0, false
	}
	var ends []int
	for i, c := range text {
		if c == '\n' {
			ends = append(ends, i+1)
		}
	}
	ends = append(ends, len(text))
	n := sort.Search(len(ends), func(i int) bool { return parseFault(text[:ends[i]]) == err.Error() })
	return n + 1, n < len(ends)
}

// parseFault returns the library's error for the text; "" if it can read it.
func parseFault(text []byte) (fault string) {
	defer func() {
		if p := recover(); p != nil {
			fault = fmt.Sprint(p)
		}
	}()
	d := yaml.NewDecoder(bytes.NewReader(text))
	for range 2 { // the second time, it finds no document, or the fault
		var node yaml.Node
		if err := d.Decode(&node); err != nil {
			return err.Error()
		}
	}
	return ""
}

// around holds the context that explains a syntax error: the line at fault, the last line with text above it, and the
// line that the library names, where the block begins. Numbers count from 1.
type around struct {
	lines       []string
	message     string
	line, block int
	at, above   string
	lineAbove   int
}

func newAround(text []byte, message string, line, block int) around {
	a := around{lines: strings.Split(string(text), "\n"), message: message, line: line, block: block}
	a.at = a.lines[min(line, len(a.lines))-1]
	for n := line - 1; n > 0 && a.lineAbove == 0; n-- {
		above := a.lines[n-1]
		if trimmed := strings.TrimSpace(above); trimmed != "" && trimmed[0] != '#' {
			a.above, a.lineAbove = above, n
		}
	}
	return a
}

// hint returns how to fix it.
func (a around) hint() string {
	for _, look := range []func() string{a.ofForeign, a.ofParser, a.ofColon, a.ofBrackets} {
		if hint := look(); hint != "" {
			return hint
		}
	}
	if levels, fits := a.levels(); !fits {
		return fmt.Sprintf("this line is indented by %s, the possible parents above it by %s: align it", blanks(indentOf(a.at)), strings.Join(levels, " or "))
	}
	return "check the indentation and the quotes of this line and the one above"
}

// ofForeign returns the hint for content that does not belong in a YAML file at all.
func (a around) ofForeign() string {
	switch {
	case mergeMark().MatchString(a.at), mergeMark().MatchString(a.above):
		return "the file contains a merge conflict: keep one side and remove the lines with <<<<<<<, ======= and >>>>>>>"
	case a.foreignLine() != "":
		return a.foreignLine()
	case textBehindMark().MatchString(a.at):
		return "no text may follow | or > on its line: write the text on indented lines below it, or remove the | or >"
	case strings.Contains(a.at, "\u00a0"):
		return "there is a no-break space, which only looks like a space: replace it with a space"
	case strings.Contains(a.at[:indentOf(a.at)], "\t"), strings.Contains(a.message, "tab character"):
		return "indent with spaces, never with tabs"
	}
	return ""
}

// ofParser returns the hint for the error from the YAML library.
func (a around) ofParser() string {
	switch {
	case strings.Contains(a.message, "cannot start any token"):
		return "quote text that starts with @, ` or %"
	case strings.Contains(a.message, "mapping values"), strings.Contains(a.message, "<document start>"):
		return a.secondValue()
	case strings.Contains(a.message, "',' or"):
		return "a [ or { opened here is not closed; inside them, ${...} needs quotes"
	case strings.Contains(a.message, "'-' indicator"):
		return fmt.Sprintf("this line follows the list that begins on line %d but does not start with -", a.block)
	case strings.Contains(a.message, "unexpected end of stream"):
		return "a quote opened here is not closed"
	case strings.Contains(a.message, "unknown escape"):
		return "in double quotes, \\ begins a YAML escape: use single quotes, or write each \\ as \\\\"
	case strings.Contains(a.message, "whitespace or line break") && strings.Contains(a.at, "!"):
		return "quote text that starts with !; in a condition, write the ! inside the expression: ${!name}"
	case strings.Contains(a.message, "alphabetic or numeric") && strings.Contains(a.at, "&"):
		return "quote text that starts with &"
	case strings.Contains(a.message, "anchor"), strings.Contains(a.message, "alphabetic or numeric"):
		return "quote text that starts with *, or define the anchor with & before it"
	case strings.Contains(a.message, "max depth"):
		return "flatten it, or move parts to separate files"
	}
	return ""
}

// ofColon returns the hint for a line that does not continue text, or lacks a colon.
func (a around) ofColon() string {
	switch {
	case blockText().MatchString(a.above) && indentOf(a.at) <= indentOf(a.above):
		return fmt.Sprintf("the text that begins on line %d must be indented more than its key: indent this line and the following lines of the text", a.lineAbove)
	case noBlank().MatchString(strings.TrimSpace(a.at)):
		return fmt.Sprintf("the space after the colon is missing: write `%s`", strings.Replace(strings.TrimSpace(a.at), ":", ": ", 1))
	case strings.Contains(a.message, "expected ':'") && !likeKey().MatchString(strings.TrimSpace(a.at)):
		return noKey(a.line)
	case strings.Contains(a.message, "expected ':'"):
		return fmt.Sprintf("the colon is missing: write `%s:`", strings.TrimSpace(a.at))
	}
	return ""
}

// ofBrackets returns the hint for brackets and quotes without their counterparts.
func (a around) ofBrackets() string {
	opened := func(line, open, closing string) bool { return strings.Count(line, open) > strings.Count(line, closing) }
	switch {
	case opened(a.at, "}", "{"), opened(a.at, "]", "["):
		return "there is a } or ] too many"
	case afterBracket().MatchString(a.at):
		return "text continues after a ] or }: quote all of it, because [ begins a list and { a mapping"
	case afterQuote().MatchString(a.at):
		return "text continues after its closing quote: quote all of it with the other kind of quotes"
	case opened(a.above, "[", "]"), opened(a.above, "{", "}"):
		return fmt.Sprintf("a [ or { opened on line %d is not closed", a.lineAbove)
	case opened(a.at, "[", "]"), opened(a.at, "{", "}"):
		return "a [ or { opened here is not closed"
	}
	return ""
}

// noKey returns the hint for a line that is neither a key nor part of multi-line text.
func noKey(line int) string {
	return fmt.Sprintf("line %d is not a key with a value: remove it, or put a # before it", line)
}

// likeKey matches a key that lacks its colon.
var likeKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:- )?["']?[+_A-Za-z0-9][\w.+-]*>?["']?$`) })

// python matches a line of a Python program.
var python = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(from [\w.]+ import |import \w|def \w+\(|class \w+[(:]|with \w.*:$|@\w+[(.]|print\()`)
})

// foreignLine explains a line that was copied along with a workflow, or that belongs to another language; "" if neither
// it nor the one above is such a line.
func (a around) foreignLine() string {
	for _, line := range []string{a.above, a.at} {
		text := strings.TrimSpace(line)
		first, _, _ := strings.Cut(text, " ")
		switch {
		case strings.HasPrefix(text, "```"), strings.HasPrefix(text, "~~~"):
			return "remove the lines with " + text[:3] + ", which are Markdown code fences"
		case first == "//", first == "--", strings.HasPrefix(text, "//"), strings.HasPrefix(text, "/*"), strings.HasPrefix(text, "<!--"):
			return "a comment begins with #"
		case first == "$" || line == a.at && first == ">" && line == text:
			return "remove the `" + first + "` and anything else copied from a terminal or an email"
		case text == "…" || text == "...":
			return "remove the line " + text + ", which is a placeholder for omitted lines"
		case python().MatchString(text) && line == text:
			return "this is Python: put it in a separate file and run a function of it with `py>: MODULE.FUNCTION`"
		case numberedLine().MatchString(text) && line == text:
			return "each line begins with a number, as in a listing with line numbers: remove the numbers"
		}
	}
	return ""
}

// numberedLine matches a line with its number in front.
var numberedLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\d+[:|.]?\s+[+\w].*:`) })

// afterBracket matches a value in brackets followed by text.
var afterBracket = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(?:- +)*[^\s"'#\[{][^"'\[{]*:\s+(?:\[[^\[\]{}]*\]|\{[^\[\]{}]*\})\s*[^\s#,:\]}]`)
})

// mostLevels limits the lines, named in a message, to which another line could belong.
const mostLevels = 4

// levels returns the indentations above a line that the line could belong to, nearest first, and whether the line has
// one of these indentations.
func (a around) levels() (list []string, fits bool) {
	least := -1
	for n := a.line - 1; n > 0 && least != 0; n-- {
		line := a.lines[n-1]
		text := strings.TrimSpace(line)
		if text == "" || text[0] == '#' || least >= 0 && indentOf(line) >= least {
			continue
		}
		fits = fits || blockIndent(line) == indentOf(a.at) || indentOf(line) == indentOf(a.at)
		if least = indentOf(line); len(list) < mostLevels {
			list = append(list, fmt.Sprintf("%d (line %d)", blockIndent(line), n))
		}
	}
	return list, fits || list == nil
}

// secondValue returns the hint for a key in a place where no key is allowed.
func (a around) secondValue() string {
	above := strings.TrimSpace(a.above)
	switch {
	case strings.Count(a.at, ": ")+strings.Count(a.at, ":\n") > 1:
		return "quote text that contains a colon and a space, or move the text after the first colon to a separate line"
	case noBlank().MatchString(above):
		return fmt.Sprintf("the space after the colon on line %d is missing: write `%s`", a.lineAbove, strings.Replace(above, ":", ": ", 1))
	case above != "" && !strings.Contains(above, ":") && !strings.HasPrefix(above, "-") && !likeKey().MatchString(above):
		return noKey(a.lineAbove)
	case above != "" && !strings.Contains(above, ":") && !strings.HasPrefix(above, "-"):
		return fmt.Sprintf("the colon on line %d is missing: write `%s:`", a.lineAbove, above)
	case indentOf(a.at) > blockIndent(a.above) && !strings.HasSuffix(above, ":"):
		return fmt.Sprintf("this line is indented by %s, more than line %d, which already has a value: align them", blanks(indentOf(a.at)), a.lineAbove)
	}
	return "quote text that contains a colon and a space, and check the indentation"
}

// mergeMark matches a line that git writes for a merge conflict.
var mergeMark = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(<<<<<<< |=======$|>>>>>>> )`) })

// afterQuote matches a quoted value followed by text that is not a comment.
var afterQuote = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(?:- +)*[^\s"'#][^"']*:\s+(?:"(?:[^"\\]|\\.)*"|'[^']*')\s*[^\s#,'\]}:]`)
})

// textBehindMark matches a key with a block scalar's mark and text on the same line.
var textBehindMark = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*[\w+>.-]+:\s+[|>][-+0-9]*\s+[^\s#]`) })

// blockText matches a key that begins a block scalar, and noBlank a key whose value directly follows its colon.
var (
	blockText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`:\s+[|>][-+0-9]*\s*$`) })
	noBlank   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[+_A-Za-z][\w>.-]*:[^\s:/][^:]*$`) })
)

func blanks(n int) string {
	if n == 1 {
		return "1 space"
	}
	return fmt.Sprintf("%d spaces", n)
}

// indentOf returns the number of bytes before the text of a line.
func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// blockIndent returns the column, from 0, of the key that a line adds to a block, after list marks.
func blockIndent(line string) int {
	n := indentOf(line)
	for strings.HasPrefix(line[n:], "- ") {
		n += 1 + indentOf(line[n+1:])
	}
	return n
}
