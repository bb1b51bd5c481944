package program

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
)

// insistence handles the second request to end the program.
type insistence struct {
	mu sync.Mutex
	do func() (leave bool) // nil: it exits
}

type insistenceKey struct{}

// HeedSignals returns a context that ends when the program is asked to end. At the second signal, the program is ended
// by that signal, as its sender expects, unless the running command has work to do first or instead (WhenToldAgain);
// left is closed if a signal cannot end the program. Later signals have no effect, so that no work is left half done.
//
// A signal that is ignored at startup stays ignored: with `zerodag run … &` in a script without job control, or with
// nohup, a Ctrl-C or a hangup is not meant for the program.
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
		for s == syscall.SIGHUP { // the shell and the kernel both send one when a terminal closes
			s = <-signals
		}
		i.mu.Lock() // if the program exits, it stays locked so that the running command does not continue
		switch {
		case i.do != nil && !i.do():
			i.mu.Unlock()
		case !endBy(s):
			close(gone)
		}
	}()
	return ctx, gone
}

// endBy ends the program with a signal. It returns false if this system cannot do so.
func endBy(s os.Signal) bool {
	signal.Reset(s)
	self, err := os.FindProcess(os.Getpid())
	if err != nil || self.Signal(s) != nil {
		return false
	}
	select {} // until the signal arrives
}

// WhenToldAgain sets the function that is called when the program is asked to end for the second time, until over is
// called, which waits for a call in progress. do reports whether the program should then exit. Other goroutines
// continue in the meantime.
func WhenToldAgain(ctx context.Context, do func() (leave bool)) (over func()) {
	i, ok := ctx.Value(insistenceKey{}).(*insistence)
	if !ok { // this is not a separate program
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
