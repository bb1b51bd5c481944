package term

import (
	"bytes"
	"strings"
	"testing"
)

// TestProgress checks what a bar shows, and that short transfers show none.
func TestProgress(t *testing.T) {
	t.Parallel()
	for text, got := range map[string]string{
		"  [                              ]   0 %  0.0 of 2.0 MB": progressLine(0, 2e6),
		"  [===============               ]  50 %  1.0 of 2.0 MB": progressLine(1e6, 2e6),
		"  [==============================] 100 %  2.0 of 2.0 MB": progressLine(2e6, 2e6),
		"  1.5 MB": progressLine(1_500_000, -1),
	} {
		if got != text {
			t.Errorf("%q, want %q", got, text)
		}
	}
	var out bytes.Buffer
	p := &Progress{out: &out}
	p.Tell(1, 2)
	p.Tell(2, 2)
	p.End()
	if out.Len() > 0 {
		t.Errorf("a short transfer shows %q", out.String())
	}
	p.Tell(1, 2)
	p.started = p.started.Add(-progressAfter)
	p.Tell(1, 2)
	p.End()
	if !strings.HasPrefix(out.String(), "\r  [===") || !strings.HasSuffix(out.String(), "\r\x1b[K") {
		t.Errorf("a long transfer shows %q", out.String())
	}
}
