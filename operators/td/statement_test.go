package td

import (
	"strings"
	"testing"
)

// TestWithCommand checks where a command is inserted. The cases come from Digdag's own test.
func TestWithCommand(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"select 1":                                                         "INSERT\nselect 1",
		"-- comment\nselect 1":                                             "-- comment\nINSERT\nselect 1",
		"-- comment\r\nselect 1":                                           "-- comment\r\nINSERT\nselect 1",
		"-- comment1\n--comment2\nselect 1":                                "-- comment1\n--comment2\nINSERT\nselect 1",
		"select 1\n-- comment\nfrom table":                                 "INSERT\nselect 1\n-- comment\nfrom table",
		"SELECT\n-- comment1\n1;\n-- comment2\n":                           "INSERT\nSELECT\n-- comment1\n1;\n-- comment2\n",
		"with a as (select 1)\n-- DIGDAG_INSERT_LINE\nselect 1":            "with a as (select 1)\nINSERT\nselect 1",
		"with a as (select 1)\n-- DIGDAG_INSERT_LINE xyz\nselect 1":        "with a as (select 1)\nINSERT\nselect 1",
		"with a as (select 1)\n--DIGDAG_INSERT_LINE\n-- comment\nselect 1": "with a as (select 1)\nINSERT\n-- comment\nselect 1",
		"-- DIGDAG_INSERT_LINE\r\nselect $1":                               "INSERT\r\nselect $1",
		"a\r\n-- DIGDAG_INSERT_LINE\n-- DIGDAG_INSERT_LINE":                "a\r\nINSERT\n-- DIGDAG_INSERT_LINE",
		"-- comment\nselect 1\nfrom table":                                 "INSERT\n-- comment\nselect 1\nfrom table",
	} {
		if got := withCommand("INSERT", query); got != want {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
}

// FuzzWithCommand checks that a command is inserted once into any query, and that the query loses nothing but the line
// that asks for it.
func FuzzWithCommand(f *testing.F) {
	for _, query := range []string{"", "-- a\nb", "a\n--  DIGDAG_INSERT_LINE b\r\nc", "\r\n\t--\n"} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		const command = "INSERT INTO \"$1\""
		got := withCommand(command, query)
		if strings.Count(got, command) != strings.Count(query, command)+1 {
			t.Errorf("%q became %q", query, got)
		}
		if squeezed := strings.Join(strings.Fields(strings.Replace(got, command, "", 1)), ""); !strings.Contains(query, "DIGDAG_INSERT_LINE") && squeezed != strings.Join(strings.Fields(query), "") {
			t.Errorf("%q lost something: %q", query, got)
		}
	})
}
