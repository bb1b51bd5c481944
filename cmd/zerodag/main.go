// Command zerodag runs workflows of the Digdag language on this machine.
//
// There is one file per subcommand: it binds options, calls the packages below internal/ that do the work, and prints.
// It must never decide anything about tasks, and nothing imports it.
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

// collectLate lets memory grow to 16 MiB before the first garbage collection: most commands have ended by then. After
// that, the collector works as usual.
func collectLate() {
	if os.Getenv("GOGC") != "" {
		return
	}
	usual := debug.SetGCPercent(400)
	runtime.AddCleanup(new([64]byte), func(percent int) { debug.SetGCPercent(percent) }, usual)
}

// shortEnd is how long commands without tasks may take to end when asked to.
const shortEnd = 2 * time.Second

// last waits for the end of a command that was asked to end. A command that runs tasks may take as long as it needs;
// any other may be waiting for user input, and is abandoned after shortEnd.
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

// run executes one command line and returns the exit code: 0 for success, 2 for an invalid command line, 1 for any
// other error.
func run(ctx context.Context, args []string, s cli.Streams) int {
	if slices.Contains(args, "--version") { // whatever else is requested, as in Digdag
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

// plainError returns the text of an error; for a server's JSON response, only the message. Scripts for Digdag read the
// JSON, and expect a project's errors before their place.
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

// longHelp converts Digdag's `-help` to `--help`: with one hyphen it is parsed as single-letter options.
func longHelp(args []string) []string {
	args = slices.Clone(args)
	for i, a := range args {
		if a == "-help" {
			args[i] = "--help"
		}
	}
	return args
}

// strayOption returns an unknown option on a command line without a command; "" for none.
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
