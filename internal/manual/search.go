package manual

import (
	"cmp"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/kljensen/snowball/english"

	"zerodag/engine/param"
	"zerodag/internal/term"
)

// Hit is a section that a search found.
type Hit struct {
	Address string `json:"address"` // the name of a page and its section, for Find, such as schedules#cron
	Page    string `json:"page"`    // the page's title
	Heading string `json:"heading"` // heading of the section; empty for the beginning of a page
	Text    string `json:"text"`    // the sentence or the row that fits best, as plain text
}

// Search returns at most n sections of pages and operators about some words, the best first. It compares word stems, so
// that "retries" finds "retry". Words from other tools also find the corresponding words through the glossary. A word
// that appears on no page counts as a misspelling of the nearest word; meant lists these replacements.
//
// Results are ranked by BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009). A table row is
// ranked separately, because settings and options would otherwise get lost in their tables.
func Search(words string, n int) (hits []Hit, meant []string, err error) {
	index, err := searchIndex()
	if err != nil {
		return nil, nil, err
	}
	query, pages, meant := index.query(words)
	pages = append(pages, words)
	best := map[string]scored{} // by address
	for i := range index.texts {
		t := &index.texts[i]
		score := index.score(t, query)
		switch {
		case slices.Contains(pages, t.hit.Address):
			score = 2*score + answer
		case slices.Contains(pages, t.page):
			score *= 2
		}
		if score > best[t.hit.Address].score {
			best[t.hit.Address] = scored{t, score}
		}
	}
	list := make([]scored, 0, len(best))
	for _, s := range best {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.text.hit.Address, b.text.hit.Address))
	})
	hits = make([]Hit, 0, n)
	for _, s := range list[:min(n, len(list))] {
		if s.score < list[0].score/least {
			break
		}
		hit := s.text.hit
		hit.Text = s.text.best(query)
		hits = append(hits, hit)
	}
	return hits, meant, nil
}

// answer is added to the score of a section to which the glossary refers for a word in the search.
const answer = 6

// least limits the results: a hit is omitted if its score is less than 1/least of the best score, because such hits
// contain only one of several words somewhere.
const least = 4

type scored struct {
	text  *text
	score float64
}

// text is a section, or a row of one of its tables.
type text struct {
	hit    Hit
	page   string   // name of the page
	lines  []string // sentences and rows, as plain text
	stems  map[string]int
	length int
	weight float64
}

// index holds every text in the manual, and how many texts each stem occurs in.
type index struct {
	texts    []text
	in       map[string]int
	length   float64 // the average text length
	synonyms []synonym
}

// synonym is the glossary's entry for a word from other tools: the stems of the words used here, and pages about it.
type synonym struct {
	stems []string
	here  []string
	pages []string
}

// wanted is a stem that a search is for.
type wanted struct {
	stem        string
	weight      float64
	rarity      float64
	first, last int // the words of the query that it represents
}

// Weights of words in headings and titles; a word in the text has weight 1.
const (
	inHeading = 4
	inTitle   = 2
)

// fromOthers is the weight of pages about migrating from other tools, which mention everything; a search for a tool
// finds its name in their titles.
const fromOthers = 0.6

// weights holds the weights of page groups: groups that answer more of users' questions come first.
var weights = map[string]float64{"How to": 1.2, "The language": 1.2, "Reference": 0.8, "Operators": 0.8, "How it works inside": 0.5}

var searchIndex = sync.OnceValues(makeIndex)

func makeIndex() (*index, error) {
	list, err := everything()
	if err != nil {
		return nil, err
	}
	x := &index{in: map[string]int{}}
	for _, t := range list {
		weight := cmp.Or(weights[t.Group], 1)
		if strings.HasPrefix(t.Name, "from-") {
			weight = fromOthers
		}
		for i, s := range sectionsOf(t.Page) {
			hit := Hit{Address: t.Name, Page: t.Title}
			if i > 0 {
				hit.Address, hit.Heading = t.Name+"#"+slug(s.heading), strings.ReplaceAll(s.heading, "`", "")
			}
			if t.Name == "glossary" && slug(s.heading) == "words-of-other-tools" {
				x.synonyms = synonymsOf(t, s)
				weight = fromOthers
			}
			prose, rows := s.split()
			if len(prose) > 0 {
				x.add(t.Name, hit, prose, weight)
			}
			for _, row := range rows {
				x.add(t.Name, hit, []string{row}, weight)
			}
		}
	}
	for i := range x.texts {
		for stem := range x.texts[i].stems {
			x.in[stem]++
		}
		x.length += float64(x.texts[i].length) / float64(len(x.texts))
	}
	return x, nil
}

func (x *index) add(page string, hit Hit, lines []string, weight float64) {
	t := text{hit: hit, page: page, lines: lines, stems: map[string]int{}, weight: weight}
	count := func(of string, times int) {
		for _, word := range wordsOf(of) {
			for _, s := range word {
				t.stems[s] += times
			}
			t.length++
		}
	}
	for _, line := range lines {
		count(line, 1)
	}
	count(cmp.Or(hit.Heading, hit.Page), inHeading)
	count(hit.Page, inTitle)
	x.texts = append(x.texts, t)
}

// query returns the stems of the words, along with the stems and pages that the glossary has for them, and the words
// that replace typos.
func (x *index) query(words string) (list []wanted, pages, meant []string) {
	all := wordsOf(words)
	for i, word := range all {
		if !slices.ContainsFunc(word, func(s string) bool { return x.in[s] > 0 }) && !x.isSynonym(word[0]) {
			if near := param.Nearest(word[0], x.known()); near != "" {
				all[i] = []string{near}
				meant = append(meant, x.spelled(near))
			}
		}
	}
	for i, word := range all {
		for n, s := range word {
			list = append(list, wanted{s, 1 - 0.6*float64(min(n, 1)), x.rarity(s), i, i}) // parts of a compound count less
		}
	}
	for _, s := range x.synonyms {
		for _, in := range [][]at{wholes(all), parts(all)} {
			for i := range in {
				if last := i + len(s.stems) - 1; len(s.stems) > 0 && last < len(in) && s.matches(in[i:]) {
					for _, here := range s.here {
						list = append(list, wanted{here, 1, x.rarity(here), in[i].word, in[last].word})
					}
					pages = append(pages, s.pages...)
				}
			}
		}
	}
	return list, pages, meant
}

// at is a stem in a query, and the number of its word.
type at struct {
	stem string
	word int
}

// wholes and parts return the stems of a query in order, with compounds such as fan-out and max_active_runs as one word
// and split into parts.
func wholes(words [][]string) (list []at) {
	for i, w := range words {
		list = append(list, at{w[0], i})
	}
	return list
}

func parts(words [][]string) (list []at) {
	for i, w := range words {
		for _, s := range w[min(1, len(w)-1):] {
			list = append(list, at{s, i})
		}
	}
	return list
}

func (s synonym) matches(in []at) bool {
	for i, stem := range s.stems {
		if in[i].stem != stem {
			return false
		}
	}
	return true
}

// known lists the candidate stems for correcting a typo, in a fixed order.
func (x *index) known() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(x.in)), func(s string) bool { return len(s) < 4 })
}

// spelled returns a word on the pages that has the given stem.
func (x *index) spelled(of string) string {
	for i := range x.texts {
		for _, line := range x.texts[i].lines {
			for _, w := range word().FindAllString(strings.ToLower(line), -1) {
				if stem(w) == of {
					return w
				}
			}
		}
	}
	return of
}

func (x *index) isSynonym(stem string) bool {
	return slices.ContainsFunc(x.synonyms, func(s synonym) bool { return slices.Contains(s.stems, stem) })
}

// score returns the sum of the BM25 scores of each word's best stem, reduced if the text lacks some of the words,
// especially rare ones.
func (x *index) score(t *text, query []wanted) float64 {
	const k, b = 1.2, 0.75
	best := map[int]float64{} // by the first of the words
	worth := map[int]float64{}
	found := map[int]bool{}
	for _, w := range query {
		for i := w.first; i <= w.last; i++ {
			worth[i] = max(worth[i], w.rarity)
		}
		n := float64(t.stems[w.stem])
		if n == 0 {
			continue
		}
		for i := w.first; i <= w.last; i++ {
			found[i] = true
		}
		best[w.first] = max(best[w.first], w.weight*w.rarity*n*(k+1)/(n+k*(1-b+b*float64(t.length)/x.length)))
	}
	sum, covered, all := 0.0, 0.0, 0.0
	for _, s := range best {
		sum += s
	}
	for i, w := range worth {
		all += w
		if found[i] {
			covered += w
		}
	}
	if all == 0 {
		return 0
	}
	return sum * t.weight * covered / all
}

// rarity returns the weight of a stem: the fewer texts contain it, the higher the weight. A stem that is in no text has
// no weight.
func (x *index) rarity(stem string) float64 {
	texts, having := float64(len(x.texts)), float64(x.in[stem])
	if having == 0 {
		return 0
	}
	return math.Log(1 + (texts-having+0.5)/(having+0.5))
}

// best returns the line with the most wanted stems.
func (t *text) best(query []wanted) string {
	best, most := "", 0.0
	for _, line := range t.lines {
		sum := 0.0
		for _, word := range wordsOf(line) {
			for _, w := range query {
				if slices.Contains(word, w.stem) {
					sum += w.weight
				}
			}
		}
		if best == "" || sum > most {
			best, most = line, sum
		}
	}
	return best
}

var word = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[\pL\pN_]+(?:[-.'][\pL\pN_]+)*`) })

// wordsOf returns the stems of each word of a text, omitting words that occur everywhere. A compound has several stems:
// the whole without separators, and its parts.
func wordsOf(text string) (list [][]string) {
	for _, w := range word().FindAllString(strings.ToLower(text), -1) {
		parts := strings.FieldsFunc(w, func(r rune) bool { return strings.ContainsRune("-_.'", r) })
		whole := strings.Join(parts, "")
		if whole == "" || english.IsStopWord(whole) || slices.Contains(common, whole) {
			continue
		}
		stems := []string{stem(whole)}
		if len(parts) > 1 {
			for _, p := range parts {
				if !english.IsStopWord(p) {
					stems = append(stems, stem(p))
				}
			}
		}
		list = append(list, stems)
	}
	return list
}

// stem caches its results, because every word occurs many times on the pages.
func stem(word string) string {
	if s, ok := stems().Load(word); ok {
		return s.(string)
	}
	s := english.Stem(word, false)
	if len(word) < 30 {
		stems().Store(word, s)
	}
	return s
}

var stems = sync.OnceValue(func() *sync.Map { return new(sync.Map) })

// common lists words that occur in questions but are not specific to their subject.
var common = []string{"zerodag", "use", "way", "want", "need", "get", "make", "like", "help", "would", "could", "find", "work", "possible", "go", "put", "thing"}

// synonymsOf reads the glossary's table: the first column contains words from other tools, separated by commas; the
// second contains the words used here, in code or links.
func synonymsOf(glossary Topic, s section) (list []synonym) {
	for line := range strings.Lines(s.text) {
		cells := term.Cells(line)
		if !strings.HasPrefix(line, "|") || len(cells) != 2 {
			continue
		}
		var here, pages []string
		for _, m := range inCodeOrLink().FindAllStringSubmatch(cells[1], -1) {
			for _, word := range wordsOf(m[1] + " " + m[3]) {
				here = append(here, word[0])
			}
			if m[2] != "" {
				_, page, _ := strings.Cut(glossary.Address(m[2]), " docs ")
				pages = append(pages, page)
			}
		}
		for theirs := range strings.SplitSeq(cells[0], ",") {
			for _, in := range [][]at{wholes(wordsOf(theirs)), parts(wordsOf(theirs))} {
				var stems []string
				for _, a := range in {
					stems = append(stems, a.stem)
				}
				list = append(list, synonym{stems, here, pages})
			}
		}
	}
	return list
}

var inCodeOrLink = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("\\[`?([^\\]`]+)`?\\]\\(([^)]*)\\)|`([^`]+)`") })

// split returns the sentences of a section, and the rows of its tables, as plain text.
func (s section) split() (prose, rows []string) {
	var paragraph strings.Builder
	flush := func() {
		for sentence := range strings.SplitSeq(paragraph.String(), ". ") {
			if sentence = strings.TrimSpace(sentence); sentence != "" {
				prose = append(prose, sentence)
			}
		}
		paragraph.Reset()
	}
	code, head := false, 0
	for line := range strings.Lines(s.text) {
		line = strings.TrimSpace(line)
		switch {
		case term.IsFence(line):
			flush()
			code = !code
		case code:
			prose = append(prose, line)
		case strings.HasPrefix(line, "|"):
			flush()
			if head++; head > 2 {
				rows = append(rows, plainRow(line))
			}
			continue
		case line == "":
			flush()
		case strings.HasPrefix(line, "#") && paragraph.Len() == 0 && strings.HasSuffix(line, s.heading): // this is the heading
		default:
			paragraph.WriteString(term.WithoutMarks(line) + " ")
		}
		head = 0
	}
	flush()
	return prose, rows
}

func plainRow(line string) string {
	var cells []string
	for _, cell := range term.Cells(line) {
		if cell = term.WithoutMarks(cell); cell != "" && cell != "–" {
			cells = append(cells, cell)
		}
	}
	if len(cells) > 1 {
		cells[0] += ":"
	}
	return strings.Join(cells, " ")
}
