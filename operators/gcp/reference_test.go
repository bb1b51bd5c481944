package gcp

import (
	"strings"
	"testing"

	"zerodag/engine/param"
	"zerodag/operators"
)

// FuzzReadTable checks that the full form of a parsed table name is parsed to the same table, and that no name causes a
// panic.
func FuzzReadTable(f *testing.F) {
	f.Add("p:d.t$20160101", "p2:d2")
	f.Add("t", "")
	f.Add("a:b:c.t", "x:y:z")
	f.Fuzz(func(t *testing.T, text, of string) {
		w := &work{project: "own", params: operators.NewParams(param.New("dataset", of))}
		got, err := w.readTable(text)
		if err != nil {
			return
		}
		again, err := w.readTable(got.project + ":" + got.dataset + "." + got.id)
		if err != nil || again != got {
			t.Errorf("%q of %q is %+v, and that written in full %+v, %v", text, of, got, again, err)
		}
	})
}

// FuzzLocation checks that only the name of a location is extracted from a response.
func FuzzLocation(f *testing.F) {
	f.Add("409 Conflict: Already Exists: Job my-project:asia-northeast1.digdag_s0", "digdag_s0")
	f.Add("Already Exists: Job p:../../x.id", "id")
	f.Fuzz(func(t *testing.T, text, id string) {
		if got := locationIn(text, id); strings.ContainsAny(got, "/?&.: \n") || !strings.Contains(text, got) {
			t.Errorf("%q has %q", text, got)
		}
	})
}

// TestLocationIn checks that the location is found in BigQuery's messages.
func TestLocationIn(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"409 Conflict: Already Exists: Job my-project:asia-northeast1.digdag_s0 [duplicate]": "asia-northeast1",
		"Already Exists: Job example.com:p:US.digdag_s0":                                     "US",
		"Already Exists: Job my-project:digdag_s0":                                           "",
		"Already Exists": "",
	} {
		if got := locationIn(text, "digdag_s0"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
