package program

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
)

// insistence is what happens when the program is told to end for the second time.
type insistence struct {
	mu sync.Mutex
	do func() (leave bool) // nil: it leaves
}

type insistenceKey struct{}

// HeedSignals returns a context that ends when the program is told to end. At the second time the program ends by the
// signal, as whoever sent it expects, unless the command that runs has something to do before (WhenToldAgain), or
// instead; left is closed where a program cannot end so. What comes then has no effect: nothing is to be left half
// done.
//
// A signal that is ignored from the start on stays so: `zerodag run … &` of a script without job control, and nohup,
// mean that a Ctrl-C or the end of the terminal is not for the program.
func HeedSignals() (_ context.Context, left <-chan struct{}) {
	heeded := slices.DeleteFunc([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}, signal.Ignored)
	signals, gone := make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(signals, heeded...)
	i := &insistence{}
	ctx, end := context.WithCancel(context.WithValue(context.Background(), insistenceKey{}, i))
	go func() {
		<-signals
		end()
		s := <-signals
		for s == syscall.SIGHUP { // the shell and the kernel both tell of one end of a terminal
			s = <-signals
		}
		i.mu.Lock() // where the program leaves it stays so: the command that runs does not continue
		switch {
		case i.do != nil && !i.do():
			i.mu.Unlock()
		case !endBy(s):
			close(gone)
		}
	}()
	return ctx, gone
}

// endBy ends the program by a signal. It reports false if this system cannot.
func endBy(s os.Signal) bool {
	signal.Reset(s)
	self, err := os.FindProcess(os.Getpid())
	if err != nil || self.Signal(s) != nil {
		return false
	}
	select {} // until it comes
}

// WhenToldAgain sets what is done when the program is told to end for the second time, until over is called, which
// waits for it. do reports whether the program then leaves. Other goroutines continue meanwhile.
func WhenToldAgain(ctx context.Context, do func() (leave bool)) (over func()) {
	i, ok := ctx.Value(insistenceKey{}).(*insistence)
	if !ok { // this is no program of its own
		return func() {}
	}
	set := func(do func() bool) {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.do = do
	}
	set(do)
	return func() { set(nil) }
}
