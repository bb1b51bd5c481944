package httpapi

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestPosition proves that a position which a client sends back says the same again.
func TestPosition(t *testing.T) {
	t.Parallel()
	f := &feed{logs: map[string]*logPart{
		"+wf+a&b=c@1.log.gz": {sent: 12},
		"+wf+done@2.log.gz":  {sent: 99, done: true},
	}}
	at := time.UnixMilli(1700000000123)
	position := f.position(at)
	again := &feed{logs: map[string]*logPart{}}
	again.resume(position)
	if !again.since.Equal(at) || len(again.logs) != 1 || again.logs["+wf+a&b=c@1.log.gz"].sent != 12 {
		t.Errorf("%q is read as %v %v", position, again.since, again.logs)
	}
	again = &feed{logs: map[string]*logPart{}}
	if again.resume("garbage"); !again.since.IsZero() || len(again.logs) != 0 {
		t.Error("what is no position is not the beginning")
	}
}

// TestWholeRunes proves that text is never cut inside of a character.
func TestWholeRunes(t *testing.T) {
	t.Parallel()
	euro := "€"
	for text, want := range map[string]string{"": "", "ab": "ab", "a" + euro: "a" + euro, "a" + euro[:2]: "a", euro[:1]: "",
		"a\x80\x80\x80\x80\x80": "a\x80\x80\x80\x80\x80"} {
		if diff := cmp.Diff(want, string(wholeRunes([]byte(text)))); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

// TestPreferred proves which encoding is chosen.
func TestPreferred(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]string{"": "", "gzip": "gzip", "deflate, gzip": "gzip", "deflate": "deflate", "br, deflate;q=0.5": "deflate",
		"gzip;q=0, deflate": "deflate", "GZIP": "gzip", "*": "gzip", "identity": "", "gzip;q=0": ""} {
		if got := preferred(accept); got != want {
			t.Errorf("%q: %q, want %q", accept, got, want)
		}
	}
}

// TestPreciseInstant proves that fractions of a second come in groups of three digits.
func TestPreciseInstant(t *testing.T) {
	t.Parallel()
	base := time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)
	for nanos, want := range map[time.Duration]string{0: "2024-01-02T03:04:05Z", 139e6: "2024-01-02T03:04:05.139Z", 100e6: "2024-01-02T03:04:05.100Z",
		1e3: "2024-01-02T03:04:05.000001Z", 1: "2024-01-02T03:04:05.000000001Z"} {
		if got := preciseInstant(base.Add(nanos)); got != want {
			t.Errorf("%d ns: %s, want %s", nanos, got, want)
		}
	}
}
