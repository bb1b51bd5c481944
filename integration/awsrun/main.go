// Command awsrun makes a run of the end-to-end list on an AWS account safe and documented: it checks that nothing of
// the run's stage exists, stores the results of the tests, measures, counts usage, removes everything, lists everything
// that is left, and writes the report. `make integration-aws` runs it by integration/stack/run.sh, and `make test-aws`
// does the same on LocalStack.
//
//	awsrun begin   -run FOLDER -stage NAME     refuses an existing stage; prints what will be done and what it costs
//	awsrun tests   -run FOLDER                 reads go test -json, prints it as go test does, stores the results
//	awsrun measure -run FOLDER                 times calls, first tasks and commands of the stack of the environment
//	awsrun usage   -run FOLDER -stage NAME     counts usage
//	awsrun remove  -run FOLDER -stage NAME     removes the whole stage; fails with the names of what is left
//	awsrun report  -run FOLDER -into FILE      writes the report
//
// It never removes anything from a stage that it has not begun.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"zerodag/integration/stack"
)

func main() {
	// A canceled run is still removed, by another call of the same program.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "awsrun:", err)
		os.Exit(1)
	}
}

// options holds the options of all commands.
type options struct {
	folder, stage, into, commit, version string
	calls, starts, commands              int
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("missing command: use begin, tests, measure, usage, remove or report")
	}
	var o options
	set := flag.NewFlagSet(args[0], flag.ContinueOnError)
	set.StringVar(&o.folder, "run", "", "folder of the run")
	set.StringVar(&o.stage, "stage", "", "stage of the run")
	set.StringVar(&o.into, "into", "", "file of the report")
	set.StringVar(&o.commit, "commit", "", "commit of the source")
	set.StringVar(&o.version, "version", "", "release")
	set.IntVar(&o.calls, "calls", 100, "number of API calls to time")
	set.IntVar(&o.starts, "starts", 50, "number of starts to time")
	set.IntVar(&o.commands, "commands", 5, "number of commands to time")
	if err := set.Parse(args[1:]); err != nil {
		return err
	}
	switch args[0] {
	case "tests":
		return tests(os.Stdin, os.Stdout, filepath.Join(o.folder, testsFile))
	case "measure":
		return o.measure(ctx)
	case "report":
		return o.report()
	}
	a, err := open(ctx, o.stage)
	if err != nil {
		return err
	}
	switch args[0] {
	case "begin":
		return a.begin(ctx, o.folder, o.commit, o.version, os.Stdout)
	case "usage":
		return o.usage(ctx, a)
	case "remove":
		return a.remove(ctx, o.folder, os.Stdout)
	}
	return fmt.Errorf("unknown command %q", args[0])
}

func (o options) measure(ctx context.Context) error {
	s, ok := stack.Find()
	if !ok {
		return fmt.Errorf("no deployed stack: set ZERODAG_SERVER to its URL")
	}
	list, err := measure(ctx, s, o.calls, o.starts, o.commands, os.Stdout)
	if err != nil {
		return err
	}
	return write(o.folder, latencyFile, list)
}

// countTime is the longest delay of CloudWatch's metrics.
const countTime = 4 * time.Minute

func (o options) usage(ctx context.Context, a *account) error {
	var run about
	if err := read(filepath.Join(o.folder, runFile), &run); err != nil {
		return err
	}
	if !a.near { // CloudWatch shows counts some minutes later
		fmt.Println("awsrun: waiting for the metrics in CloudWatch")
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(countTime):
		}
	}
	list, err := a.usage(ctx, run.Began)
	if err != nil {
		return err
	}
	return write(o.folder, "usage.json", list)
}

func (o options) report() error {
	text, err := report(o.folder, time.Now().UTC())
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(o.into), 0o755); err != nil { //nolint:gosec // it is a page of the docs
		return err
	}
	return os.WriteFile(o.into, []byte(text), 0o644) //nolint:gosec // it is a page of the docs
}
