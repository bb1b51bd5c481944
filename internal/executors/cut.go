package executors

import (
	"context"
	"sync"
)

// Cut kills all running commands, regardless of their contexts, and lets no more begin. It returns when everything that
// they started is gone, or when ctx ends. It may be called again.
func (e *Executors) Cut(ctx context.Context) {
	e.cuts.begin()
	gone := make(chan struct{})
	go func() { defer close(gone); e.cuts.running.Wait() }()
	select {
	case <-gone:
	case <-ctx.Done():
	}
}

// cuts tracks the running commands so that a cut can end them.
type cuts struct {
	cut chan struct{} // closed when no more commands may begin

	mu      sync.Mutex
	count   int
	stops   map[int]context.CancelFunc // cancel functions for the contexts of running commands
	running sync.WaitGroup             // grows only under mu, and never after cut is closed
}

func (c *cuts) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over() {
		return
	}
	close(c.cut) // before the contexts end, so that commands get no grace time
	for _, stop := range c.stops {
		stop()
	}
}

func (c *cuts) over() bool {
	select {
	case <-c.cut:
		return true
	default:
		return false
	}
}

// enter returns the context in which a command runs until leave is called, or an error if no command may begin.
func (c *cuts) enter(ctx context.Context) (_ context.Context, leave func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over() {
		return nil, nil, context.Canceled
	}
	ctx, stop := context.WithCancel(ctx)
	c.count++
	number := c.count
	c.stops[number] = stop
	c.running.Add(1)
	return ctx, func() {
		stop()
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.stops, number)
		c.running.Done()
	}, nil
}
