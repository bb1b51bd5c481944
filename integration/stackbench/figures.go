package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// figure is the cost of a million objects, item by item. A run of `make bench-aws` writes the figures of all scenarios
// into a file, which docs/aws.md shows as a table.
type figure struct {
	Name   string
	Budget float64 // dollars; 0 means none
	Items  []part
}

// part is an item of a figure.
type part struct {
	What    string
	Dollars float64
}

func (f figure) total() (sum float64) {
	for _, p := range f.Items {
		sum += p.Dollars
	}
	return sum
}

// counted returns the total without the time of functions, which depends on the computer of the run: everything else
// would be the same on AWS.
func (f figure) counted() float64 {
	sum := f.total()
	for _, p := range f.Items {
		if p.What == timeOfFunctions {
			sum -= p.Dollars
		}
	}
	return sum
}

// figureOf returns the cost of a million tasks of a scenario beyond the cost of their attempts, which the first
// scenario measures; the figure of the first scenario is about attempts.
func figureOf(r result, attempt []cost) figure {
	f := figure{Name: r.name, Budget: r.scenario.dollars}
	for i, c := range r.costs() {
		dollars := c.dollars
		if r.tasks > 1 {
			dollars = max(dollars-float64(r.attempts)*attempt[i].dollars, 0)
		}
		f.Items = append(f.Items, part{c.what, dollars / float64(r.tasks*r.attempts) * 1e6})
	}
	return f
}

// figuresOf returns the figures of all scenarios, the first of which has attempts of one task.
func figuresOf(results []result) (list []figure) {
	attempt := results[0].costs()
	for i := range attempt {
		attempt[i].dollars /= float64(results[0].attempts)
	}
	for _, r := range results {
		list = append(list, figureOf(r, attempt))
	}
	return list
}

// writeFigures stores figures in a file.
func writeFigures(file string, list []figure) error {
	text, err := json.MarshalIndent(list, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644) //nolint:gosec // it is kept with the source
}

// pageOf returns the table of the docs: a line for each item, a column for each figure.
func pageOf(list []figure) string {
	var b strings.Builder
	b.WriteString("| $ a million |")
	for _, f := range list {
		b.WriteString(" " + strings.ReplaceAll(f.Name, "attempts of one", "attempts: one") + " |")
	}
	b.WriteString("\n|---" + strings.Repeat("|---", len(list)) + "|\n")
	line := func(what string, cell func(figure) string) {
		b.WriteString("| " + what + " |")
		for _, f := range list {
			b.WriteString(" " + cell(f) + " |")
		}
		b.WriteString("\n")
	}
	for i, p := range list[0].Items {
		line(p.What, func(f figure) string {
			if text := fmt.Sprintf("%.3f", f.Items[i].Dollars); text != "0.000" {
				return text
			}
			return "–"
		})
	}
	line("everything counted, without Lambda time", func(f figure) string { return fmt.Sprintf("%.3f", f.counted()) })
	line("**all**", func(f figure) string { return fmt.Sprintf("**%.2f**", f.total()) })
	line("budget", func(f figure) string {
		switch {
		case f.Budget == 0:
			return ""
		case f.total() > f.Budget:
			return fmt.Sprintf("%.2f, **over**", f.Budget)
		}
		return fmt.Sprintf("%.2f", f.Budget)
	})
	return b.String()
}
