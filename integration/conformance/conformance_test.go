package conformance

import (
	"cmp"
	"os"
	"os/exec"
	"slices"
	"testing"

	"zerodag/operators/operatortest/postgres"
)

// missing describes a missing requirement of a case, or returns "" if there is none.
func missing(c Case) string {
	for _, need := range c.Needs {
		switch need {
		case "pg":
			if err := postgres.Missing(); err != nil {
				return err.Error()
			}
		case "ruby":
			if _, err := exec.LookPath("ruby"); err != nil {
				return "ruby"
			}
		case "python":
			if _, err := exec.LookPath("python3"); err != nil {
				return "python3"
			}
		}
	}
	return ""
}

// TestInProcess checks that every recorded case that consists of one start and its end has the same result as in
// Digdag. ZERODAG_CASES names another folder of cases.
func TestInProcess(t *testing.T) {
	t.Parallel()
	cases, err := LoadCases(cmp.Or(os.Getenv("ZERODAG_CASES"), "cases"))
	if err != nil {
		t.Fatal(err)
	}
	cases = slices.DeleteFunc(cases, func(c Case) bool { return !c.InProcess })
	if len(cases) == 0 {
		t.Fatal("no case found")
	}
	surroundings := NewSurroundings(t)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			o := outcome{missing: missing(c)}
			if o.missing == "" {
				o.differences = Compare(c.Expected, c.Run(t, surroundings))
			}
			o.report(t, c)
		})
	}
}
