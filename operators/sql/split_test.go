package sql

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	for script, want := range map[string][]string{
		"":                                 nil,
		" ; -- nothing\n; /* no; thing */": nil,
		"select 1":                         {"select 1"},
		"select 1; select 2;":              {"select 1", "select 2"},
		"select ';', \"a;b\"; select 2":    {"select ';', \"a;b\"", "select 2"},
		`select 'it''s; ok'; select 2`:     {`select 'it''s; ok'`, "select 2"},
		`select '\';'; select 2`:           {`select '\';'`, "select 2"},
		"select 1 -- one; or\n, 2; x":      {"select 1 -- one; or\n, 2", "x"},
		"/* a; /* b; */ c; */ select 1;":   {"/* a; /* b; */ c; */ select 1"},
		"do $$ a; b $$; do $x$ $$; $x$; y": {"do $$ a; b $$", "do $x$ $$; $x$", "y"},
		"select 'open; end":                {"select 'open", "end"},
		"/* open; end":                     nil,
		"select a$b; select $1":            {"select a$b", "select $1"},
	} {
		if diff := cmp.Diff(want, Split(script)); diff != "" {
			t.Errorf("%q: %s", script, diff)
		}
	}
}
