package docs_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// library is everything that may be cited.
type library struct {
	pages map[string]page // by path
	tests map[string]bool // by name
	cases []string        // names of recorded cases
}

// page is a page's sections, by anchor and by number.
type page struct{ anchors, numbers map[string]bool }

var (
	heading  = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	numbered = regexp.MustCompile(`^(\d+(?:\.\d+)*)\.? `)
	noAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	declared = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark|Example)\w*)\(`)
	fenced   = regexp.MustCompile("(?ms)^```.*?^```")
)

func newLibrary(t *testing.T) *library {
	t.Helper()
	l := &library{pages: map[string]page{}, tests: map[string]bool{}}
	walk(t, func(name string) {
		isPage := path.Ext(name) == ".md"
		if !isPage && !strings.HasSuffix(name, "_test.go") {
			return
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if isPage {
			l.pages[name] = sections(string(text))
			return
		}
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			l.tests[m[1]] = true
		}
	})
	cases, err := os.ReadDir(filepath.Join(root, "integration/conformance/cases"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		l.cases = append(l.cases, c.Name())
	}
	if len(l.pages) < 40 || len(l.tests) < 300 || len(l.cases) < 200 {
		t.Fatalf("found %d pages, %d tests and %d recorded cases", len(l.pages), len(l.tests), len(l.cases))
	}
	return l
}

// sections reads the headings of a page; anchors are made as the usual viewers do.
func sections(text string) page {
	p := page{map[string]bool{}, map[string]bool{}}
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		anchor := strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")
		for n, first := 1, anchor; p.anchors[anchor]; n++ {
			anchor = fmt.Sprintf("%s-%d", first, n)
		}
		p.anchors[anchor] = true
		if n := numbered.FindStringSubmatch(m[1]); n != nil {
			p.numbers[n[1]] = true
		}
	}
	return p
}

const (
	number = `\d+(?:\.\d+)+`
	caseID = `[a-z]\d\d[a-z]?\b`
	more   = `(?:(?:, and|,| and| to|-| or) ?`
)

var (
	address  = regexp.MustCompile(`https?://\S+`)
	pageName = regexp.MustCompile(`([\w./*-]*\w\.md)(#[\w-]+)?(?: (` + number + more + number + `)*))?`)
	link     = regexp.MustCompile(`\]\(([\w./-]*)(#[\w-]+)?\)`)
	numbers  = regexp.MustCompile(number)
	decision = regexp.MustCompile(`\bADRs? ?\d+` + more + `\d+)*`)
	digits   = regexp.MustCompile(`\d+`)
	testName = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w*`)
	caseName = regexp.MustCompile(`\b(?:[Cc]ases?|observed:) (` + caseID + more + caseID + `)*)`)
	caseIDs  = regexp.MustCompile(caseID)
	pathName = regexp.MustCompile(`(?:^|[\s(\x60"'])((?:engine|integration|internal|docs|cmd|operators|infra|functions|examples)/[\w./*-]*[\w*])`)
	// outside are documents that are not in this repository, and how their sections are called.
	outside = regexp.MustCompile(`\b(?:DESIGN|HOLES|HOUSE|ANCHORS|EXTENSIONS)\b|\bspec \w+\.md|/work/\w+|\b[AB]\.\d+\b`)
)

// check returns what of a text leads nowhere.
func (l *library) check(name string, s source) []problem {
	var list []problem
	say := func(at int, format string, args ...any) {
		list = append(list, problem{at, fmt.Sprintf(format, args...)})
	}
	text := address.ReplaceAllStringFunc(s.text, func(a string) string { return strings.Repeat(" ", len(a)) })
	for _, m := range outside.FindAllStringIndex(text, -1) {
		say(m[0], "%q is not in this repository: cite a page of docs/reference, a test or a recorded case", text[m[0]:m[1]])
	}
	for _, m := range pageName.FindAllStringSubmatchIndex(text, -1) {
		l.checkPage(name, group(text, m, 1), group(text, m, 2), group(text, m, 3), func(f string, args ...any) { say(m[0], f, args...) })
	}
	for _, m := range link.FindAllStringSubmatchIndex(text, -1) {
		l.checkLink(name, group(text, m, 1), group(text, m, 2), func(f string, args ...any) { say(m[0], f, args...) })
	}
	for _, m := range decision.FindAllStringIndex(text, -1) {
		for _, n := range digits.FindAllString(text[m[0]:m[1]], -1) {
			if found, _ := filepath.Glob(fmt.Sprintf("%s/docs/adr/%04s-*.md", root, n)); len(found) != 1 {
				say(m[0], "there is no decision %s in docs/adr", n)
			}
		}
	}
	for _, m := range testName.FindAllStringIndex(text, -1) {
		if n := text[m[0]:m[1]]; !l.tests[n] && !strings.HasPrefix(text[m[1]:], "*") {
			say(m[0], "there is no test %s", n)
		}
	}
	for _, m := range caseName.FindAllStringSubmatchIndex(text, -1) {
		for _, id := range caseIDs.FindAllString(group(text, m, 1), -1) {
			if !slices.ContainsFunc(l.cases, func(c string) bool { return strings.HasPrefix(c, id+"-") }) {
				say(m[0], "there is no recorded case %s in integration/conformance/cases", id)
			}
		}
	}
	for _, m := range pathName.FindAllStringSubmatchIndex(text, -1) {
		if n := group(text, m, 1); path.Ext(n) != ".md" && !ofUsers(name, n) && !placeholder.MatchString(n) && !exists(n) {
			say(m[2], "there is no %s", n)
		}
	}
	return list
}

// checkPage looks for a page beside the one that names it, in the repository and among the docs.
func (l *library) checkPage(from, name, anchor, sections string, say func(string, ...any)) {
	if placeholder.MatchString(name) || strings.HasPrefix(name, "/") {
		return
	}
	at, p, found := l.page(from, name)
	if !found {
		say("there is no page %s", name)
		return
	}
	if anchor != "" && !p.anchors[strings.TrimPrefix(anchor, "#")] {
		say("page %s has no section %s", at, anchor)
	}
	for _, n := range numbers.FindAllString(sections, -1) {
		if !p.numbers[n] {
			say("page %s has no section %s", at, n)
		}
	}
}

// checkLink looks for what a page links to, from where it lies, as a viewer does.
func (l *library) checkLink(from, target, anchor string, say func(string, ...any)) {
	at := from
	if target != "" {
		at = path.Join(path.Dir(from), target)
	}
	if _, err := os.Stat(filepath.Join(root, at)); err != nil {
		say("the link leads to %s, which is not there", at)
		return
	}
	if p, ok := l.pages[at]; ok && anchor != "" && !p.anchors[anchor[1:]] {
		say("the link leads to %s, which has no section %s", at, anchor)
	}
}

func (l *library) page(from, name string) (string, page, bool) {
	for _, base := range []string{path.Dir(from), ".", "docs", "docs/reference"} {
		at := path.Join(base, name)
		if p, ok := l.pages[at]; ok {
			return at, p, true
		}
	}
	return "", page{}, false
}

// placeholder is a part of a name that stands for others: operators/NAME.
var placeholder = regexp.MustCompile(`(^|/)[A-Z]{3,}(/|$|\.)`)

// ofUsers says that a path is one of a user's project, or of what a command fetches.
func ofUsers(from, name string) bool {
	plugins := from == "docs/plugins.md" || from == "examples/plugins/README.md"
	return plugins && strings.HasPrefix(name, "operators/") || strings.Contains(name, "/node_modules/")
}

// exists says whether a path, which may have a "*", leads to a file, a folder, the number of a
// decision, or something that a package declares: internal/host.Limits.
func exists(name string) bool {
	pkg, _, _ := strings.Cut(name, ".")
	for _, n := range []string{name, strings.TrimRight(name, "./"), name + ".go", name + "-*", pkg} {
		found, err := filepath.Glob(filepath.Join(root, n))
		if err != nil || len(found) == 0 {
			continue
		}
		if n != pkg || len(found) == 1 && isDir(found[0]) {
			return true
		}
	}
	return false
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

func group(text string, m []int, n int) string {
	if m[2*n] < 0 {
		return ""
	}
	return text[m[2*n]:m[2*n+1]]
}
