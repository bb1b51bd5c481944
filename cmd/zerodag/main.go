// Command zerodag runs workflows of the Digdag language on this machine.
//
// One file per subcommand: it binds options, calls the packages below internal/ that do the work, and prints. It must
// never decide anything about tasks, and nothing imports it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/engine/dig"
	"zerodag/internal/client"
	"zerodag/internal/evaluators/evaluator"
	"zerodag/internal/program"
	"zerodag/internal/term"
)

func main() {
	evaluator.Serve()
	collectLate()
	ctx, left := program.HeedSignals()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, os.Args[1:], cli.Streams{In: os.Stdin, Out: term.Guard(os.Stdout), Err: term.Guard(os.Stderr), ProgramVersion: version()})
	}()
	select {
	case code := <-ended:
		os.Exit(code)
	case <-ctx.Done():
	}
	os.Exit(last(ended, left, os.Args[1:]))
}

// collectLate lets memory grow to 16 MiB before the first collection: most commands are over by
// then. From there on it is collected as usual.
func collectLate() {
	if os.Getenv("GOGC") != "" {
		return
	}
	usual := debug.SetGCPercent(400)
	runtime.AddCleanup(new([64]byte), func(percent int) { debug.SetGCPercent(percent) }, usual)
}

// shortEnd is the time in which what runs no tasks ends when it is asked to.
const shortEnd = 2 * time.Second

// last waits for the end of a command that was asked to. One that runs tasks takes its time;
// any other may be busy with what a user gave it, and is left.
func last(ended <-chan int, left <-chan struct{}, args []string) int {
	var late <-chan time.Time
	if !slices.ContainsFunc(args, func(a string) bool { return slices.Contains([]string{"server", "scheduler", "sched", "run", "r"}, a) }) {
		late = time.After(shortEnd)
	}
	select {
	case code := <-ended:
		return code
	case <-left:
		return 1
	case <-late:
		fmt.Fprintln(os.Stderr, "error: interrupted")
		return 1
	}
}

// run carries out one command line and returns the exit code: 0 for success, 2 for a wrong
// command line, 1 for any other error.
func run(ctx context.Context, args []string, s cli.Streams) int {
	if slices.Contains(args, "--version") { // whatever else is asked for, as the original does
		fmt.Fprintln(s.Out, version())
		return 0
	}
	root := newRoot(s)
	if option := strayOption(args); option != "" && !program.AsDigdag() {
		root.InitDefaultHelpFlag()
		root.InitDefaultVersionFlag()
		return wrongUsage(s, root, wrongFlag(root, fmt.Errorf("unknown flag: %s", option)))
	}
	root.SetArgs(longHelp(args))
	c, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	if program.IsUsageError(err) {
		return wrongUsage(s, c, err)
	}
	if !errors.Is(err, program.ErrShown) {
		fmt.Fprintf(s.Err, "error: %s\n", program.AsCalled(plainError(err)))
	}
	return 1
}

// plainError is the text of an error; of what a server answered in JSON it has the message alone. Scripts for
// the original read the JSON, and what is wrong with a project before its place.
func plainError(err error) string {
	text := err.Error()
	var wrong dig.Errors
	if program.AsDigdag() && errors.As(err, &wrong) {
		return strings.Replace(text, wrong.Error(), wrong.PlaceBehind(), 1)
	}
	var status *client.StatusError
	var body struct{ Message string }
	if program.AsDigdag() || !errors.As(err, &status) || json.Unmarshal([]byte(status.Body), &body) != nil || body.Message == "" {
		return text
	}
	return strings.Replace(text, status.Body, body.Message, 1)
}

// longHelp writes the original's `-help` as `--help`: with one hyphen it reads as letters.
func longHelp(args []string) []string {
	args = slices.Clone(args)
	for i, a := range args {
		if a == "-help" {
			args[i] = "--help"
		}
	}
	return args
}

// strayOption is an option of a command line without a command that is none of the program's own; "" for none.
func strayOption(args []string) string {
	if slices.ContainsFunc(args, func(a string) bool { return !strings.HasPrefix(a, "-") }) {
		return ""
	}
	for _, a := range args {
		if name, _, _ := strings.Cut(a, "="); !slices.Contains([]string{"-h", "-help", "--help", "-v", "-version", "--version", "--"}, name) {
			return name
		}
	}
	return ""
}
