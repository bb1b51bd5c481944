package http

import "testing"

func TestIllegal(t *testing.T) {
	t.Parallel()
	for uri, want := range map[string]string{
		"http://h":                         "",
		"http://h/a%20b;c=1,(d)?x=[1]&?#f": "",
		"http://h/日本?é=é":                  "",
		"http://h/a b":                     "Illegal character in path at index 10",
		"http://h/日 b":                     "Illegal character in path at index 10",
		"http://h/[a]":                     "Illegal character in path at index 9",
		"http://h?a={b}":                   "Illegal character in query at index 11",
		"http://h/#a#":                     "Illegal character in fragment at index 11",
		"http://h/%2":                      "Malformed escape pair at index 9",
		"http://h/😀 ":                      "Illegal character in path at index 11",
	} {
		if got := illegal(uri); got != want {
			t.Errorf("%s: got %q, want %q", uri, got, want)
		}
	}
}
