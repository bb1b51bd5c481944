package operatortest

import (
	"slices"
	"strings"
	"testing"

	"zerodag/operators"
)

// sections are what every page has, in this order; others may stand between them.
var sections = []string{"Parameters", "Example", "Errors", "Permissions"}

// hasPage: `zerodag operators NAME` shows the README.md of the operator's folder, and users
// rely on it: what the operator reads is in its table.
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
		s.Operator.Run(t.Context(), &w.Task) // what it says about them is looked at elsewhere
		asked = append(asked, w.Params.Asked()...)
	}
	for _, key := range unlisted(s.Operator, asked) {
		t.Errorf("%s> reads %q, which is not in the parameters of its README.md", s.Operator.Name, key)
	}
}

// PageProblems says what is wrong with the form of an operator's page.
func PageProblems(o operators.Operator) []string {
	page, ok := operators.Page(o.Name)
	if !ok {
		return []string{"no README.md in operators/ has a line `# " + o.Name + ">`: write the page of the operator"}
	}
	var problems []string
	if _, rest, _ := strings.Cut(page, "\n\n"); !strings.HasPrefix(rest, o.SummaryLine()+"\n") {
		problems = append(problems, o.Name+">: the first paragraph of the page is not the summary: "+o.SummaryLine())
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

// unlisted are the keys that are not in the parameters of the operator's page.
func unlisted(o operators.Operator, asked []string) []string {
	page, ok := operators.Page(o.Name)
	if !ok {
		return nil // that is a failure of its own
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
