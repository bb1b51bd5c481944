// Command stackbench prints what attempts cost on AWS, counted on a stack deployed to LocalStack: calls, write and read
// units, invocations and dollars per million tasks with their budgets (invariants.md 4.15); latencies next to the
// latencies of the bare calls; cold starts.
//
// `make bench-aws` runs it. It only marks figures that are over budget: the test next to it asserts the counts, and
// times are only for reading. It must run alone on its stack.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"zerodag/integration/stack"
)

func main() {
	chain := flag.Int("chain", 100, "tasks of a chain")
	wide := flag.Int("wide", 1000, "tasks of a fan-out")
	single := flag.Int("single", 50, "attempts of one task")
	functions := flag.String("functions", "bin/functions", "folder of the bootstrap files, to measure cold starts")
	kept := flag.String("write", "", "file to which the costs are written, for docs/aws.md")
	detail := flag.Bool("v", true, "also print calls, invocations and dollars by service")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *chain, *wide, *single, *functions, *kept, *detail); err != nil {
		fmt.Fprintln(os.Stderr, "stackbench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, chain, wide, single int, functions, kept string, detail bool) error {
	s, ok := stack.Find()
	if !ok {
		return errors.New(`no deployed stack: eval "$(integration/localstack/deploy.sh)" deploys one`)
	}
	b, err := open(ctx, s)
	if err != nil {
		return err
	}
	defer b.close()
	var results []result
	err = b.runAll(ctx, scenarios(b.works.url, chain, wide, single), func(r result) {
		fmt.Fprintln(os.Stderr, "measured:", r.name)
		results = append(results, r)
	})
	if err != nil {
		return err
	}
	fmt.Println("Per task, in addition to the cost of its attempt, which is the first line; us-east-1 list prices, arm64, no free tier. OVER: over budget.")
	w := table("scenario", "write units", "read units", "SQS requests", "invocations", "ms of Lambda", "$ counted + time here", "$ per million", "with start and end")
	for _, r := range results {
		r.summary(w)
	}
	w.Flush()
	if detail {
		fmt.Println()
		for _, r := range results {
			r.detail()
		}
	}
	if kept != "" {
		if err := writeFigures(kept, figuresOf(results)); err != nil {
			return err
		}
	}
	if err := b.idle(ctx); err != nil {
		return err
	}
	if err := b.latencies(ctx, results[1], results[2]); err != nil {
		return err
	}
	return coldStarts(ctx, functions)
}
