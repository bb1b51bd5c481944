package docs_test

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// kind is one kind of citation: how it is written, and what is wrong with a citation that leads nowhere. The words are
// the whole match of the pattern, followed by its groups.
type kind struct {
	pattern *regexp.Regexp
	check   func(l *library, from string, words []string) []string
}

// Parts that several patterns share.
const (
	number = `\d+(?:\.\d+)+`
	caseID = `[a-z]\d\d[a-z]?\b`
	more   = `(?:(?:, and|,| and| to|-| or) ?`
)

var (
	address  = regexp.MustCompile(`https?://\S+`)
	numbers  = regexp.MustCompile(number)
	digits   = regexp.MustCompile(`\d+`)
	caseIDs  = regexp.MustCompile(caseID)
	packages = regexp.MustCompile(`\./[\w/.]*\w`)
	// placeholder matches a part of a name that stands for other names: operators/NAME.
	placeholder = regexp.MustCompile(`(^|/)[A-Z]{3,}(/|$|\.)`)
)

var kinds = []kind{
	// Documents that are not in this repository, and the names of their sections.
	{regexp.MustCompile(`\b(?:DESIGN|HOLES|HOUSE|ANCHORS|EXTENSIONS)\b|\bspec \w+\.md|\b[AB]\.\d+\b`), outside},
	// A page, perhaps with a section: language.md 1.5, 1.6 or server.md#settings.
	{regexp.MustCompile(`([\w./*-]*\w\.md)(#[\w-]+)?(?: (` + number + more + number + `)*))?`), (*library).checkPage},
	// A section of the reference, cited in the reference itself: (2.7).
	{regexp.MustCompile(`\((` + number + more + number + `)*)\)`), (*library).checkNumber},
	{regexp.MustCompile(`\]\(([\w./-]*)(#[\w-]+)?\)`), (*library).checkLink},
	{regexp.MustCompile(`\bADRs? ?\d+` + more + `\d+)*`), checkDecisions},
	{regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w*\*?`), (*library).checkTest},
	{regexp.MustCompile(`\bgo test ((?:-\w+ |\./[\w/.]+[ \x60,;:)|]+)+)`), checkPackages},
	{regexp.MustCompile(`\x60make ([a-z][a-z-]*)`), (*library).checkTarget},
	{regexp.MustCompile(`\b(?:[Cc]ases?|recordings?|observed:) (` + caseID + more + caseID + `)*)`), (*library).checkCases},
	{regexp.MustCompile(`(?:^|[\s(\x60"'])((?:engine|integration|internal|docs|cmd|operators|infra|functions|examples)/[\w./*-]*[\w*])`), checkPath},
}

// check returns the citations in a text that lead nowhere.
func (l *library) check(from string, s source) []problem {
	var list []problem
	text := address.ReplaceAllStringFunc(s.text, func(a string) string { return strings.Repeat(" ", len(a)) })
	for _, k := range kinds {
		for _, m := range k.pattern.FindAllStringSubmatchIndex(text, -1) {
			at := m[0]
			if len(m) > 2 && m[2] >= 0 {
				at = m[2]
			}
			var words []string
			for n := 0; n < len(m); n += 2 {
				words = append(words, text[max(0, m[n]):max(0, m[n+1])])
			}
			for _, says := range k.check(l, from, words) {
				list = append(list, problem{at, says})
			}
		}
	}
	return list
}

func outside(_ *library, _ string, words []string) []string {
	return []string{fmt.Sprintf("%q is not in this repository: cite a page of docs/reference, a test or a recorded case", words[0])}
}

// checkPage looks for a page next to the one that names it, in the repository and among the docs.
func (l *library) checkPage(from string, words []string) (wrong []string) {
	name, anchor := words[1], strings.TrimPrefix(words[2], "#")
	if placeholder.MatchString(name) || strings.HasPrefix(name, "/") {
		return nil
	}
	at, p, found := l.page(from, name)
	if !found {
		return []string{"there is no page " + name}
	}
	if anchor != "" && !p.anchors[anchor] {
		wrong = append(wrong, fmt.Sprintf("page %s has no section #%s", at, anchor))
	}
	for _, n := range numbers.FindAllString(words[3], -1) {
		if !p.numbers[n] {
			wrong = append(wrong, fmt.Sprintf("page %s has no section %s", at, n))
		}
	}
	return wrong
}

func (l *library) checkNumber(from string, words []string) (wrong []string) {
	if !strings.HasPrefix(from, "docs/reference/") {
		return nil
	}
	for _, n := range numbers.FindAllString(words[1], -1) {
		if !slices.ContainsFunc(slices.Collect(maps.Values(l.pages)), func(p page) bool { return p.numbers[n] }) {
			wrong = append(wrong, "the reference has no section "+n)
		}
	}
	return wrong
}

// checkLink looks for the target of a link relative to the page that contains it, as a viewer does.
func (l *library) checkLink(from string, words []string) []string {
	at := from
	if words[1] != "" {
		at = path.Join(path.Dir(from), words[1])
	}
	if found, err := filepath.Glob(filepath.Join(root, at)); err != nil || len(found) == 0 {
		return []string{fmt.Sprintf("the link leads to %s, which is not there", at)}
	}
	if p, ok := l.pages[at]; ok && words[2] != "" && !p.anchors[words[2][1:]] {
		return []string{fmt.Sprintf("the link leads to %s, which has no section %s", at, words[2])}
	}
	return nil
}

func checkDecisions(_ *library, _ string, words []string) (wrong []string) {
	for _, n := range digits.FindAllString(words[0], -1) {
		if found, _ := filepath.Glob(fmt.Sprintf("%s/docs/adr/%04s-*.md", root, n)); len(found) != 1 {
			wrong = append(wrong, fmt.Sprintf("there is no decision %s in docs/adr", n))
		}
	}
	return wrong
}

// checkTest treats names that end in "*" as patterns.
func (l *library) checkTest(_ string, words []string) []string {
	if name := words[0]; !l.tests[name] && !strings.HasSuffix(name, "*") {
		return []string{"there is no test " + name}
	}
	return nil
}

func checkPackages(_ *library, _ string, words []string) (wrong []string) {
	for _, pkg := range packages.FindAllString(words[1], -1) {
		if !hasTests(pkg) {
			wrong = append(wrong, fmt.Sprintf("package %s has no tests", pkg))
		}
	}
	return wrong
}

func (l *library) checkTarget(_ string, words []string) []string {
	if !l.makes[words[1]] {
		return []string{"the Makefile has no target " + words[1]}
	}
	return nil
}

func (l *library) checkCases(_ string, words []string) (wrong []string) {
	for _, id := range caseIDs.FindAllString(words[1], -1) {
		if !slices.ContainsFunc(l.cases, func(c string) bool { return strings.HasPrefix(c, id+"-") }) {
			wrong = append(wrong, fmt.Sprintf("there is no recorded case %s in integration/conformance/cases", id))
		}
	}
	return wrong
}

// checkPath leaves pages to checkPage, and ignores paths in users' projects and paths of downloaded files.
func checkPath(_ *library, from string, words []string) []string {
	name := words[1]
	plugins := slices.Contains([]string{"docs/plugins.md", "docs/language/zerodag-1.md", "examples/plugins/README.md"}, from)
	switch {
	case path.Ext(name) == ".md", placeholder.MatchString(name), strings.Contains(name, "/node_modules/"):
	case plugins && path.Dir(name) == "operators":
	case !exists(name):
		return []string{"there is no " + name}
	}
	return nil
}
