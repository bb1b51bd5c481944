package term

import (
	"fmt"
	"strings"
	"testing"
)

// TestTreeInAnotherSize proves that a picture such as the tree is completely replaced after the size of the terminal
// has changed: a narrower terminal has broken its lines, and lines that a shorter one has moved out of sight come back
// with a taller one. Text printed since then is below the picture and stays.
func TestTreeInAnotherSize(t *testing.T) {
	t.Parallel()
	lines := []string{"\x1b[32m" + strings.Repeat("x", 70) + "\x1b[0m", "", "ab", strings.Repeat("é", 100)}
	for _, x := range []struct{ columns, lines, beyond, up, left int }{
		{80, 24, 0, 5, 0}, {80, 4, 0, 3, 2}, {40, 24, 0, 7, 0}, {30, 24, 0, 9, 0}, {140, 24, 0, 4, 0}, {140, 4, 0, 3, 1}, {140, 24, 3, 7, 0}, {140, 6, 3, 5, 2},
	} {
		if up, left := (drawing{lines, 140, x.beyond}).rows(x.columns, x.lines); up != x.up || left != x.left {
			t.Errorf("%+v: %d up, %d left", x, up, left)
		}
	}
	if up, _ := (drawing{lines[3:], 80, 0}).rows(40, 24); up != 2 {
		t.Errorf("a line that was cut at 80 columns takes %d lines of 40", up)
	}
	var out strings.Builder
	columns, rows := 80, 24
	p := NewPicture(&out, func() (int, int) { return columns, rows })
	picture := []string{"· +" + strings.Repeat("w", 60), "  · +a", "  · +b", "0 of 2 done"}
	for _, x := range []struct {
		columns, rows int
		printed, want string
	}{{80, 24, "", "\x1b[?7l"}, {50, 24, "", "\x1b[5A\r"}, {50, 4, "", "\x1b[3A\r"}, {50, 24, "", "\x1b[4A\r"}, {50, 4, "", "\x1b[3A\r"}, {50, 4, "said\n", "\x1b[3A\rsaid\x1b[K\n"}, {50, 24, "", "\x1b[3A\r"}} {
		columns, rows = x.columns, x.rows
		out.Reset()
		fmt.Fprint(p, x.printed)
		if err := p.Draw(func(columns, lines int) []string {
			var cut []string // like callers of Draw, which receive the width of the terminal
			for _, l := range picture[max(0, len(picture)-max(3, lines-2)):] {
				cut = append(cut, ShortenEnd(l, columns))
			}
			return cut
		}); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(out.String(), x.want) {
			t.Errorf("%+v: %q", x, out.String())
		}
		if n := strings.Count(out.String(), "\x1b[J"); n != 1 || !strings.HasSuffix(out.String(), "\n"+wrapLines+eraseBelow) {
			t.Errorf("%+v: the screen is erased other than below the picture: %q", x, out.String())
		}
	}
}
