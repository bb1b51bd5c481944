package host_test

import (
	"testing"

	"zerodag/internal/host"
)

// FuzzArchiveState proves that a state that was parsed stays the same if it is encoded and parsed again, and that the
// zero state is "".
func FuzzArchiveState(f *testing.F) {
	for _, text := range []string{"", "{}", `{"needed":7}`, `{"going":"2026-01-02T03:04:05.6Z","searched":9}`, `{"removed":"2026-01-02T03:04:05Z","cleared":true}`, "x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := host.ParseArchiveState(text)
		if err != nil || s.Going.Year() > 9999 || s.Removed.Year() > 9999 {
			return
		}
		again, err := host.ParseArchiveState(s.Text())
		if err != nil || again.Text() != s.Text() || (s.Text() == "") != (s == host.ArchiveState{}) {
			t.Errorf("%q is %q, %v", text, again.Text(), err)
		}
	})
}
