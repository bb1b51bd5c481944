package evaluator

import (
	"errors"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"zerodag/engine/expr/assets"
	"zerodag/engine/expr/script"
	"zerodag/internal/evaluators/wire"
)

// Serve turns this process into an evaluator and does not return if a Pool started it as one; otherwise it does
// nothing. A program with a Pool must call it first.
func Serve() {
	if len(os.Args) != 1 || os.Args[0] != wire.Greeting {
		return
	}
	if err := serve(); !errors.Is(err, io.EOF) {
		os.Stderr.WriteString("error: " + err.Error() + "\n")
		os.Exit(1) //nolint:forbidigo // this process is an evaluator: Serve is its main
	}
	os.Exit(0) //nolint:forbidigo // this process is an evaluator: Serve is its main
}

// Limits within the process; confine sets the kernel's limits.
const (
	processors = 2
	maxStack   = 64 << 20  // bytes: the engine's parsers are recursive
	heapGoal   = 160 << 20 // bytes above which garbage collection becomes more aggressive
)

// serve answers questions until there are no more (io.EOF). It acquires everything that it needs from the system before
// confine, after which only reading, writing and memory are left.
func serve() error {
	runtime.GOMAXPROCS(processors)
	debug.SetMaxStack(maxStack)
	debug.SetMemoryLimit(heapGoal)
	debug.SetGCPercent(200) // most scripts are small, and there are many
	debug.SetTraceback("none")
	<-time.After(time.Nanosecond) // makes the runtime open the files that its timers need
	if err := confine(); err != nil {
		return err
	}
	e := script.New(script.Options{Spent: used, Match: wire.LastTime, Moment: sync.OnceValue(func() *script.Moment { return script.CompileMoment(assets.Moment()) })})
	questions := wire.NewQuestions(os.Stdin)
	if _, err := os.Stdout.Write(wire.Hello()); err != nil {
		return err
	}
	for {
		q, err := questions.Next()
		if err != nil {
			return err
		}
		boundTime()
		if _, err := os.Stdout.Write(wire.Answer(e.Run(q))); err != nil {
			return err
		}
	}
}
