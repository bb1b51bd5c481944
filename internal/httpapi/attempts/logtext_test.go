package attempts

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestCopyText proves that text is copied unchanged, in whatever pieces it arrives, except for an incomplete character
// at the end, so that a client that counts bytes continues where that character begins.
func TestCopyText(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a\xffé漢😀\n", 40_000)
	for cut := range 5 {
		given := text + "😀"[:cut]
		want := text
		if cut == len("😀") {
			want += "😀"
		}
		for name, reader := range map[string]io.Reader{"whole": strings.NewReader(given), "in halves": iotest.HalfReader(strings.NewReader(given)), "with its end": iotest.DataErrReader(strings.NewReader(given)),
			"damaged": io.MultiReader(strings.NewReader(given), iotest.ErrReader(io.ErrUnexpectedEOF))} {
			var got bytes.Buffer
			if err := copyText(&got, reader); err != nil || got.String() != want {
				t.Errorf("%s, %d bytes of the last character: %d bytes, want %d: %v", name, cut, got.Len(), len(want), err)
			}
		}
	}
	if err := copyText(goneAway{}, strings.NewReader("x")); err == nil {
		t.Error("a connection that is gone is no error")
	}
}

type goneAway struct{}

func (goneAway) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
