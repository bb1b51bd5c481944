package term

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTable proves that columns are aligned, that a row stays on one line whatever a name contains, and that on a
// narrow terminal only names are cut, in the middle.
func TestTable(t *testing.T) {
	t.Parallel()
	inked := func(ink Palette, status string) string {
		return map[string]string{"success": ink.Green, "error": ink.Red}[status]
	}
	list := NewTable(Column{Title: "ID"}, Column{Title: "NAME", Name: true}, Column{Title: "STATUS", Ink: inked}, Column{Title: "UUID", Wide: true})
	list.Add("1", "short", "success", "u1")
	list.Add("1000", "a name of\nmany words, which is long", "error", "u2")
	plain := "ID    NAME                                STATUS\n" +
		"1     short                               success\n" +
		"1000  a name of many words, which is long  error\n"
	got := list.Text(false, 0, Palette{})
	if diff := cmp.Diff(strings.Fields(plain), strings.Fields(got)); diff != "" {
		t.Error(diff)
	}
	lines := strings.Split(strings.TrimSpace(got), "\n")
	if at := strings.Index(lines[0], "STATUS"); len(lines) != 3 || strings.Index(lines[1], "success") != at || strings.Index(lines[2], "error") != at {
		t.Errorf("the columns are not aligned:\n%s", got)
	}
	if wide := list.Text(true, 0, Palette{}); !strings.Contains(wide, "UUID") || !strings.Contains(wide, "u2") {
		t.Errorf("wide:\n%s", wide)
	}
	narrow := list.Text(false, 30, Palette{})
	for line := range strings.Lines(narrow) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 30 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(narrow, "…") || !strings.Contains(narrow, "1000") || !strings.Contains(narrow, "success") {
		t.Errorf("narrow:\n%s", narrow)
	}
	if ink := list.Text(false, 0, Palette{Green: "<", Red: "!", Dim: "~", Reset: ">"}); !strings.Contains(ink, "<success>") || !strings.Contains(ink, "!error>") || !strings.Contains(ink, "~ID>") {
		t.Errorf("in colors:\n%s", ink)
	}
}

// TestSpareColumns proves that a spare column is omitted if it is empty or if a name would be cut for it, but not with
// --output wide or in a pipe.
func TestSpareColumns(t *testing.T) {
	t.Parallel()
	list := NewTable(Column{Title: "NAME", Name: true}, Column{Title: "STARTED", Spare: true}, Column{Title: "NEVER", Spare: true}, Column{Title: "TOOK"})
	list.Add("a name of many words", "2026-03-01", "", "2s")
	for columns, want := range map[int]string{0: "NAME STARTED TOOK", 40: "NAME STARTED TOOK", 37: "NAME TOOK", 20: "NAME TOOK"} {
		text := list.Text(false, columns, Palette{})
		head, rest, _ := strings.Cut(text, "\n")
		if got := strings.Join(strings.Fields(head), " "); got != want || strings.Contains(rest, "…") != (columns == 20) {
			t.Errorf("in %d columns:\n%s", columns, text)
		}
	}
}
