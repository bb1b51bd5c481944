package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestTable proves that columns are aligned, that a line stays a line whatever a name holds, and that on
// a narrow terminal names are cut in their middle, and nothing else is.
func TestTable(t *testing.T) {
	t.Parallel()
	list := newTable(column{title: "ID"}, column{title: "NAME", name: true}, column{title: "STATUS", ink: statusInk}, column{title: "UUID", wide: true})
	list.add("1", "short", "success", "u1")
	list.add("1000", "a name of\nmany words, which is long", "error", "u2")
	plain := "ID    NAME                                STATUS\n" +
		"1     short                               success\n" +
		"1000  a name of many words, which is long  error\n"
	got := list.text(false, 0, palette{})
	if diff := cmp.Diff(strings.Fields(plain), strings.Fields(got)); diff != "" {
		t.Error(diff)
	}
	lines := strings.Split(strings.TrimSpace(got), "\n")
	if at := strings.Index(lines[0], "STATUS"); len(lines) != 3 || strings.Index(lines[1], "success") != at || strings.Index(lines[2], "error") != at {
		t.Errorf("the columns are not aligned:\n%s", got)
	}
	if wide := list.text(true, 0, palette{}); !strings.Contains(wide, "UUID") || !strings.Contains(wide, "u2") {
		t.Errorf("wide:\n%s", wide)
	}
	narrow := list.text(false, 30, palette{})
	for line := range strings.Lines(narrow) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 30 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(narrow, "…") || !strings.Contains(narrow, "1000") || !strings.Contains(narrow, "success") {
		t.Errorf("narrow:\n%s", narrow)
	}
	if ink := list.text(false, 0, palette{green: "<", red: "!", dim: "~", reset: ">"}); !strings.Contains(ink, "<success>") || !strings.Contains(ink, "!error>") || !strings.Contains(ink, "~ID>") {
		t.Errorf("in colours:\n%s", ink)
	}
}

// TestSpareColumns proves that a column which is spare is left out where it is empty, and where a name would be cut for
// it, but not by --output wide nor in a pipe.
func TestSpareColumns(t *testing.T) {
	t.Parallel()
	list := newTable(column{title: "NAME", name: true}, column{title: "STARTED", spare: true}, column{title: "NEVER", spare: true}, column{title: "TOOK"})
	list.add("a name of many words", "2026-03-01", "", "2s")
	for columns, want := range map[int]string{0: "NAME STARTED TOOK", 40: "NAME STARTED TOOK", 37: "NAME TOOK", 20: "NAME TOOK"} {
		text := list.text(false, columns, palette{})
		head, rest, _ := strings.Cut(text, "\n")
		if got := strings.Join(strings.Fields(head), " "); got != want || strings.Contains(rest, "…") != (columns == 20) {
			t.Errorf("in %d columns:\n%s", columns, text)
		}
	}
}

// TestTook proves how durations of what runs, has ended and has not begun are shown.
func TestTook(t *testing.T) {
	t.Parallel()
	now := time.Date(2024, 1, 1, 0, 1, 0, 0, time.UTC)
	from, to := now.Add(-30*time.Second), now.Add(-28*time.Second)
	for want, got := range map[string]string{"": took(now, nil, nil), "30s": took(now, &from, nil), "2s": took(now, &from, &to), "in 30s": ago(from, &now), "in 23h 29m": ago(now, new(now.Add(23*time.Hour+29*time.Minute+55*time.Second))), "28s ago": ago(now, &to)} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
