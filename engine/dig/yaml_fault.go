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

// mostSearched bounds the text in which the line of a fault is searched: each step of the search parses a part of it.
const mostSearched = 256 << 10

// faultLine finds the line at which the parser gave up with an error: the last one of the shortest beginning of the
// text that fails in the same way. The library tells only where the block begins that it was in.
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

// parseFault is what the library says of a text; "" where it can read it.
func parseFault(text []byte) (fault string) {
	defer func() {
		if p := recover(); p != nil {
			fault = fmt.Sprint(p)
		}
	}()
	d := yaml.NewDecoder(bytes.NewReader(text))
	for range 2 { // the second document is none, or the fault
		var node yaml.Node
		if err := d.Decode(&node); err != nil {
			return err.Error()
		}
	}
	return ""
}

// around is what a syntax error is explained with: the line at fault, the last one with text above it, and the one
// where the block begins that the library names. Numbers count from 1.
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

// hint says how to mend it.
func (a around) hint() string {
	switch {
	case mergeMark().MatchString(a.at), mergeMark().MatchString(a.above):
		return "a conflict of a merge was left in the file: keep one of both sides, and take out the lines with <<<<<<<, ======= and >>>>>>>"
	case strings.Contains(a.at, "\u00a0"):
		return "there is a no-break space, which only looks like a blank: replace it by a blank"
	case strings.Contains(a.at[:indentOf(a.at)], "\t"), strings.Contains(a.message, "tab character"):
		return "indent with blanks, never with tabs"
	case strings.Contains(a.message, "cannot start any token"):
		return "quote text that starts with @, ` or %"
	case strings.Contains(a.message, "mapping values"), strings.Contains(a.message, "<document start>"):
		return a.secondValue()
	case strings.Contains(a.message, "',' or"):
		return "a [ or { that was opened here is not closed; inside of them ${...} needs quotes"
	case strings.Contains(a.message, "'-' indicator"):
		return fmt.Sprintf("the list that begins in line %d is followed by this line, which does not start with -", a.block)
	case strings.Contains(a.message, "unexpected end of stream"):
		return "a quote that was opened here is not closed"
	case strings.Contains(a.message, "anchor"), strings.Contains(a.message, "alphabetic or numeric"):
		return "quote text that starts with *, or define the anchor with & before it"
	case strings.Contains(a.message, "max depth"):
		return "flatten it, or move parts to files of their own"
	case blockText().MatchString(a.above) && indentOf(a.at) <= indentOf(a.above):
		return fmt.Sprintf("the text that begins in line %d is indented more than its key: indent this line, and those of the text below it", a.lineAbove)
	case strings.Contains(a.message, "expected ':'"):
		return fmt.Sprintf("a colon is missing: write `%s:`", strings.TrimSpace(a.at))
	case strings.Count(a.at, "}") > strings.Count(a.at, "{") || strings.Count(a.at, "]") > strings.Count(a.at, "["):
		return "there is a } or ] too many"
	case afterQuote().MatchString(a.at):
		return "text goes on behind its closing quote: quote all of it, with the other kind of quotes"
	}
	if strings.Count(a.above, "[") > strings.Count(a.above, "]") || strings.Count(a.above, "{") > strings.Count(a.above, "}") {
		return fmt.Sprintf("a [ or { that was opened in line %d is not closed", a.lineAbove)
	}
	if strings.Count(a.at, "[") > strings.Count(a.at, "]") || strings.Count(a.at, "{") > strings.Count(a.at, "}") {
		return "a [ or { that was opened here is not closed"
	}
	if levels, fits := a.levels(); !fits {
		return fmt.Sprintf("this line is indented by %s, those above to which it could belong by %s: line it up", blanks(indentOf(a.at)), strings.Join(levels, " or "))
	}
	return "check the indentation and the quotes of this line and the one above"
}

// mostLevels is how many lines are named to which another could belong.
const mostLevels = 4

// levels are the indentations above the line to which it could belong, from the nearest, and whether it has one of
// them.
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

// secondValue is for a key where there cannot be one.
func (a around) secondValue() string {
	above := strings.TrimSpace(a.above)
	switch {
	case strings.Count(a.at, ": ")+strings.Count(a.at, ":\n") > 1:
		return "quote text that contains a colon and a blank, or put what comes behind the first colon into a line of its own"
	case noBlank().MatchString(above):
		return fmt.Sprintf("a blank is missing behind the colon in line %d: write `%s`", a.lineAbove, strings.Replace(above, ":", ": ", 1))
	case above != "" && !strings.Contains(above, ":") && !strings.HasPrefix(above, "-"):
		return fmt.Sprintf("a colon is missing in line %d: write `%s:`", a.lineAbove, above)
	case indentOf(a.at) > blockIndent(a.above) && !strings.HasSuffix(above, ":"):
		return fmt.Sprintf("this line is indented by %s, more than line %d, which has a value already: line them up", blanks(indentOf(a.at)), a.lineAbove)
	}
	return "quote text that contains a colon and a blank, and check the indentation"
}

// mergeMark is a line that git writes where both sides of a merge changed a place.
var mergeMark = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(<<<<<<< |=======$|>>>>>>> )`) })

// afterQuote is a value in quotes with text behind it that is no comment.
var afterQuote = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(?:- +)*[^\s"'#][^"']*:\s+(?:"(?:[^"\\]|\\.)*"|'[^']*')\s*[^\s#,'\]}:]`)
})

// blockText is a key behind which a text of lines begins, noBlank one whose value begins right behind its colon.
var (
	blockText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`:\s+[|>][-+0-9]*\s*$`) })
	noBlank   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[+_A-Za-z][\w>.-]*:[^\s:/][^:]*$`) })
)

func blanks(n int) string {
	if n == 1 {
		return "1 blank"
	}
	return fmt.Sprintf("%d blanks", n)
}

// indentOf is the number of bytes before the text of a line.
func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// blockIndent is the column, from 0, of what a line adds to a block: that of its key, behind the marks of lists.
func blockIndent(line string) int {
	n := indentOf(line)
	for strings.HasPrefix(line[n:], "- ") {
		n += 1 + indentOf(line[n+1:])
	}
	return n
}
