package term

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Progress is a bar on a terminal for transfers that take a while.
type Progress struct {
	out io.Writer

	mu             sync.Mutex
	started, shown time.Time
}

// NewProgress returns a Progress that draws on a terminal. Short transfers show no bar.
func NewProgress(out io.Writer) *Progress { return &Progress{out: out} }

// A bar that would vanish at once is not shown, and redrawing must be cheap.
const (
	progressAfter = 500 * time.Millisecond
	progressEvery = 100 * time.Millisecond
	progressWidth = 30
)

// Tell shows how many bytes have been transferred; total is -1 if it is unknown. Any goroutine may call it.
func (p *Progress) Tell(done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.started.IsZero() {
		p.started = now
	}
	if now.Sub(p.started) < progressAfter || now.Sub(p.shown) < progressEvery {
		return
	}
	p.shown = now
	fmt.Fprint(p.out, "\r"+progressLine(done, total)+"\x1b[K")
}

func progressLine(done, total int64) string {
	if total <= 0 {
		return fmt.Sprintf("  %.1f MB", megabytes(done))
	}
	part := min(done, total) * 100 / total
	full := int(part) * progressWidth / 100
	bar := strings.Repeat("=", full) + strings.Repeat(" ", progressWidth-full)
	return fmt.Sprintf("  [%s] %3d %%  %.1f of %.1f MB", bar, part, megabytes(done), megabytes(total))
}

func megabytes(n int64) float64 { return float64(n) / 1e6 }

// End removes the bar.
func (p *Progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.shown.IsZero() {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
	p.started, p.shown = time.Time{}, time.Time{}
}
