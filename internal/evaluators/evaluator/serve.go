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

// Serve makes this process an evaluator, and does not return then, when a Pool started it as
// one; else it does nothing. It is the first thing that a program with a Pool does.
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

// Bounds within the process; confine sets the kernel's.
const (
	processors = 2
	maxStack   = 64 << 20  // bytes: the engine's parsers are recursive
	heapGoal   = 160 << 20 // bytes from where on garbage is collected harder
)

// serve answers questions until there are none, which is io.EOF. Whatever it needs of the system it takes
// before confine, which leaves it only reading, writing and memory.
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
