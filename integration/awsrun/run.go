package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"zerodag/internal/prices"
)

// Files in a run's folder, from which its report is made.
const (
	runFile      = "run.json"
	testsFile    = "tests.json"
	latencyFile  = "latency.json"
	leftFile     = "left.json"
	usagePattern = "usage*.json"
)

// about describes a run: where and when it happened, and from which source.
type about struct {
	Stage, Region, Commit, Version string
	Near                           bool // on an emulator, not on an account
	Began                          time.Time
}

// The usage of a run, counted in the test bed and rounded up. The machines belong to recorded cases; they are not
// shared between attempts, and stay for a minute without commands.
const (
	runAttempts = 1_500
	runCalls    = 80_000
	runMachines = 250
	minutesEach = 2.5
)

// estimate returns the approximate cost of a run in dollars.
func estimate() float64 {
	machine := (prices.FargateCPUHour + 2*prices.FargateGBHour + prices.AddressHour) * minutesEach / 60
	return runAttempts*prices.Attempt + runCalls*(prices.APIRequest+prices.LambdaRequest+0.05*prices.LambdaGBSecond) + runMachines*machine
}

// begin checks whether a run is possible, prints what it will do, and marks the stage as belonging to a run. It refuses
// if anything in the stage exists.
func (a *account) begin(ctx context.Context, folder, commit, version string, out io.Writer) error {
	number, arn, err := a.who(ctx)
	if err != nil {
		return err
	}
	there, err := a.leftovers(ctx)
	if err != nil {
		return err
	}
	if len(there) > 0 {
		return fmt.Errorf("stage %s exists, and a run removes its whole stage at the end: %d resources, the first being the %s: choose a different STAGE, or none", a.stage, len(there), there[0])
	}
	fmt.Fprintf(out, `awsrun: account %s, region %s, as %s
awsrun: 1. check the account (zerodag aws doctor)   2. deploy stage %s   3. run the end-to-end tests, including commands on Fargate
awsrun: 4. measure                                  5. remove the stage   6. check that nothing is left, and write a report
awsrun: This takes about an hour and costs about $%.2f at list prices. KEEP=1 keeps the stage for inspection, which costs a few cents a month.
`, number, a.config.Region, arn, a.stage, estimate())
	if err := write(folder, runFile, about{a.stage, a.config.Region, commit, version, a.near, time.Now().UTC()}); err != nil {
		return err
	}
	return a.setMark(ctx, "a run of the end-to-end tests, started at "+time.Now().UTC().Format(time.RFC3339)+": the whole stage may be removed")
}

// remove removes everything in the stage and records the leftovers.
func (a *account) remove(ctx context.Context, folder string, out io.Writer) error {
	remains, err := a.removeAll(ctx, func(format string, args ...any) { fmt.Fprintf(out, "awsrun: "+format+"\n", args...) })
	if folder != "" {
		note := left{Left: remains}
		if err != nil {
			note.Error = err.Error()
		}
		if err := write(folder, leftFile, note); err != nil {
			return err
		}
	}
	if len(remains) > 0 {
		return fmt.Errorf("LEFT BEHIND, and billed until you remove it:\n%s%w", lines(remains), cmp.Or(err, errLeft))
	}
	if err == nil {
		fmt.Fprintf(out, "awsrun: nothing of stage %s is left\n", a.stage)
	}
	return err
}

func lines(list []leftover) (text string) {
	for _, l := range list {
		text += "  " + l.String() + "\n"
	}
	return text
}

// errLeft is the end of the message about leftovers whose removal did not fail.
var errLeft = errors.New("no removal failed: check them manually")

// write stores a value in the folder of the run.
func write(folder, name string, v any) error {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, name), append(text, '\n'), 0o600)
}

// read is the reverse of write; a missing file leaves the value unchanged.
func read(path string, v any) error {
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}
