package attempts

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestPosition proves that a position keeps its meaning when a client sends it back.
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

// TestWholeRunes proves that text is never cut inside a character.
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
