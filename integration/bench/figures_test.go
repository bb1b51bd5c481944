package main

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "write the figures of testdata/kept.txt into docs/comparison.md")

// TestFigures checks that each figure of the comparison was printed and is recorded.
func TestFigures(t *testing.T) {
	t.Parallel()
	const page, begin, end = "../../docs/comparison.md", "<!-- figures: go test ./integration/bench -run TestFigures -rewrite -->\n", "<!-- end of figures -->"
	kept, err := os.ReadFile("testdata/kept.txt")
	if err != nil {
		t.Fatal(err)
	}
	want, err := comparison(string(kept), "../conformance/bench_reference.json")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	got, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatal("comparison.md has no place for figures")
	}
	if *rewrite {
		if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestReadFigures checks that the printed results of a run can be read back, and that a missing row causes an error.
func TestReadFigures(t *testing.T) {
	t.Parallel()
	_, _, rows := readFigures("measured on x\none echo>                                            8.4 ms     37 MiB       977 ms      36 ms  \n  a ratio                                           0.33 x\n\nthe server, from\none echo>                                            4.6 ms     51 MiB            -      36 ms  under\n")
	if diff := cmp.Diff(map[string]measured{"one echo>": {8.4, 37, 977, 36}, "server: one echo>": {4.6, 51, 0, 36}}, rows, cmp.AllowUnexported(measured{})); diff != "" {
		t.Error(diff)
	}
	if _, err := comparison("", "../conformance/bench_reference.json"); err == nil {
		t.Error("nothing was measured, and that is a table")
	}
	if a, b := thousands(rounded(2557.1)), thousands(rounded(3.6)); a != "2,600" || b != "4" {
		t.Errorf("%s %s", a, b)
	}
}
