package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"zerodag/integration/localstack/proxy"
)

// against returns a figure with its budget, marked if it exceeds it.
func against(got, budget float64, format string) string {
	text := fmt.Sprintf(format, got)
	switch {
	case budget == 0:
		return text
	case got > budget:
		return text + " OVER " + fmt.Sprintf(format, budget)
	}
	return text + " of " + fmt.Sprintf(format, budget)
}

func table(head ...string) *tabwriter.Writer {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	row(w, head...)
	return w
}

func row(w io.Writer, cells ...string) { fmt.Fprintln(w, strings.Join(cells, "\t")) }

// summary prints a scenario in a line.
func (r result) summary(w io.Writer) {
	f, whole := r.perTask(), r.whole()
	lambda := r.functions["executor"].took + r.functions["agent"].took
	row(w, r.name, against(f.writes, r.writes, "%.3f"), fmt.Sprintf("%.3f", f.reads), against(f.requests, r.scenario.requests, "%.3f"),
		against(f.invocations, r.scenario.invocations, "%.4f"), fmt.Sprintf("%.1f", float64(lambda.Microseconds())/1000/float64(r.tasks*r.attempts)),
		fmt.Sprintf("%.2f + %.2f", f.counted*1e6, f.timed*1e6), against((f.counted+f.timed)*1e6, r.scenario.dollars, "%.2f"),
		fmt.Sprintf("%.3f, $%.2f", whole.writes, (whole.counted+whole.timed)*1e6))
}

// detail prints the breakdown of a scenario's requests and costs.
func (r result) detail() {
	fmt.Println(r.name + ", for " + fmt.Sprint(r.attempts) + " attempts:")
	fmt.Println("  our calls:   " + calls(r.Bill))
	var list []string
	for name, f := range r.functions {
		if f.times > 0 {
			list = append(list, fmt.Sprintf("%s %d in %d ms at %d MB", name, f.times, f.took.Milliseconds(), f.memory))
		}
	}
	slices.Sort(list)
	fmt.Println("  invocations: " + strings.Join(list, ", "))
	fmt.Printf("  SQS:         %d FIFO and %d standard requests of ours, %d of Lambda's pollers\n", r.Ordered, r.Messages, pollers*r.usage.invocations())
	list = nil
	for _, c := range r.costs() {
		list = append(list, fmt.Sprintf("%s %.3f", c.what, c.dollars/float64(r.tasks*r.attempts)*1e6))
	}
	fmt.Println("  $/M, whole:  " + strings.Join(list, ", "))
}

func calls(b proxy.Bill) string {
	var list []string
	for c, n := range b.Calls {
		text := fmt.Sprintf("%s %s %d", c.Service, c.Operation, n)
		if units, ok := b.Units[c]; ok {
			text += fmt.Sprintf(" (%g units)", units)
		}
		list = append(list, text)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}
