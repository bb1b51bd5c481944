package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCompare checks that only tests that deviate from the list are reported: unlisted tests that fail (by their
// innermost subtest), listed tests that pass, and listed tests that did not run.
func TestCompare(t *testing.T) {
	t.Parallel()
	events := `{"Action":"start","Package":"zerodag/p"}
{"Action":"run","Package":"zerodag/p","Test":"TestGood"}
{"Action":"pass","Package":"zerodag/p","Test":"TestGood"}
{"Action":"pass","Package":"zerodag/p","Test":"TestNowGood"}
{"Action":"fail","Package":"zerodag/p","Test":"TestKnown/a"}
{"Action":"fail","Package":"zerodag/p","Test":"TestKnown"}
{"Action":"output","Package":"zerodag/p","Test":"TestBad/b","Output":"why\n"}
{"Action":"fail","Package":"zerodag/p","Test":"TestBad/b"}
{"Action":"pass","Package":"zerodag/p","Test":"TestBad/c"}
{"Action":"fail","Package":"zerodag/p","Test":"TestBad"}
{"Action":"skip","Package":"zerodag/p","Test":"TestSkipped"}
{"Action":"run","Package":"zerodag/p","Test":"TestHangs"}
{"Action":"fail","Package":"zerodag/p"}
{"Action":"output","Package":"zerodag/q","Output":"panic in init\n"}
{"Action":"fail","Package":"zerodag/q"}
{"Action":"pass","Package":"zerodag/r"}
`
	results, err := read(strings.NewReader(events))
	if err != nil {
		t.Fatal(err)
	}
	excused, err := parse("# a comment\n\np TestKnown/a: as ministack does it\np TestNowGood: no longer\np TestSkipped: never runs\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"FAILS: p TestBad/b\nwhy\n",
		"FAILS: p TestHangs\n",
		"FAILS: q \npanic in init\n",
		"NOT RUN: p TestSkipped is in integration/ministack/unsupported.txt (never runs)",
		"PASSES NOW: p TestNowGood: remove it from integration/ministack/unsupported.txt (no longer)",
	}
	if diff := cmp.Diff(want, compare(results, excused)); diff != "" {
		t.Error(diff)
	}
}

// TestParse checks that a line without a reason and a repeated line are refused.
func TestParse(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"p TestA", "p TestA: ", "TestA: reason", "p TestA: reason\np TestA: another"} {
		if got, err := parse(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
	if list, err := parse(unsupported); err != nil || len(list) == 0 {
		t.Errorf("the list of this folder: %v, %v", list, err)
	}
}

// TestBuild checks that a package that does not build counts as an error in the run, not in a test.
func TestBuild(t *testing.T) {
	t.Parallel()
	if _, err := read(strings.NewReader(`{"ImportPath":"zerodag/p","Action":"build-fail"}`)); err == nil || !strings.Contains(err.Error(), "zerodag/p does not build") {
		t.Error(err)
	}
}
