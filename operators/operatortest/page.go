package operatortest

import (
	"slices"
	"strings"
	"testing"

	"zerodag/operators"
)

// sections lists the sections that every page has, in this order; other sections may be between them.
var sections = []string{"Parameters", "Example", "Errors", "Permissions"}

// hasPage checks the README.md of the operator's folder, which `zerodag operators NAME` shows and users rely on: its
// table must have every key that the operator reads.
func (s Subject) hasPage(t *testing.T) {
	if s.Own {
		t.Skip("this operator belongs to a project")
	}
	for _, problem := range PageProblems(s.Operator) {
		t.Error(problem)
	}
	w := s.world(t, s.Good)
	s.good(t, w)
	asked := w.Params.Asked()
	for _, params := range s.Wrong {
		w := s.world(t, params)
		s.Operator.Run(t.Context(), &w.Task) // the errors are checked elsewhere
		asked = append(asked, w.Params.Asked()...)
	}
	for _, key := range unlisted(s.Operator, asked) {
		t.Errorf("%s> reads %q, which its README.md does not list as a parameter", s.Operator.Name, key)
	}
}

// PageProblems returns what is wrong with the format of an operator's page.
func PageProblems(o operators.Operator) []string {
	page, ok := operators.Page(o.Name)
	if !ok {
		return []string{"no README.md in operators/ has the line `# " + o.Name + ">`: document the operator"}
	}
	var problems []string
	if _, rest, _ := strings.Cut(page, "\n\n"); !strings.HasPrefix(rest, o.SummaryLine()+"\n") {
		problems = append(problems, o.Name+">: the first paragraph of the page differs from the summary: "+o.SummaryLine())
	}
	var found []string
	for line := range strings.Lines(page) {
		title, isTitle := strings.CutPrefix(strings.TrimSpace(line), "## ")
		if isTitle && slices.Contains(sections, title) {
			found = append(found, title)
		}
	}
	if !slices.Equal(found, sections) {
		problems = append(problems, o.Name+">: the page has the sections "+strings.Join(found, ", ")+", want "+strings.Join(sections, ", "))
	}
	return problems
}

// unlisted returns the keys that are missing from the parameters on the operator's page.
func unlisted(o operators.Operator, asked []string) []string {
	page, ok := operators.Page(o.Name)
	if !ok {
		return nil // a separate failure
	}
	listed := operators.PageKeys(page)
	if listed["any key"] {
		return nil
	}
	var missing []string
	for _, key := range asked {
		name := key
		if key == "_command" {
			name = o.Name + ">"
		}
		if !listed[name] && !slices.Contains(missing, key) {
			missing = append(missing, key)
		}
	}
	return missing
}
