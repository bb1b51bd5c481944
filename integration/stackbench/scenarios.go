package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// scenario is a workflow with its budgets for one task (invariants.md 4.15); a budget of 0 means none.
type scenario struct {
	name     string
	tasks    int // of an attempt, to which budgets apply
	attempts int
	text     string

	writes, requests, invocations float64
	dollars                       float64 // per million tasks
}

// scenarios returns the scenarios, beginning with attempts of one task: the cost of a start, lists and an end has a
// separate budget, and is not counted again with the tasks of the others.
func scenarios(url string, chain, wide, single int) []scenario {
	http := fmt.Sprintf("http>: %s/x", url)
	return []scenario{
		{name: "attempts of one echo>", tasks: 1, attempts: single, text: "+a:\n  echo>: hi\n", dollars: 16},
		{name: fmt.Sprintf("chain of %d http>", chain), tasks: chain, attempts: 2, text: inTurn(chain, http), writes: 1.045, requests: 0.1, dollars: 0.70},
		{name: fmt.Sprintf("chain of %d echo>", chain), tasks: chain, attempts: 2, text: inTurn(chain, "echo>: hi"), dollars: 0.10},
		{name: fmt.Sprintf("%d-wide fan-out of echo>", wide), tasks: wide, attempts: 2, text: sideBySide(wide, "echo>: ${i}"), writes: 0.05, requests: 0.1, dollars: 0.05},
		{name: fmt.Sprintf("%d-wide fan-out of http>", wide), tasks: wide, attempts: 2, text: sideBySide(wide, http+"/${i}"), writes: 0.3, requests: 0.4, invocations: 0.12, dollars: 0.30},
		{name: "attempts of one http>", tasks: 1, attempts: single, text: "+a:\n  " + http + "\n"},
	}
}

func inTurn(n int, operator string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "+t%d:\n  %s\n", i, operator)
	}
	return b.String()
}

func sideBySide(n int, operator string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint(i)
	}
	return fmt.Sprintf("+all:\n  for_each>: {i: [%s]}\n  _parallel: true\n  _do:\n    %s\n", strings.Join(list, ", "), operator)
}

// result is the usage of a scenario's attempts.
type result struct {
	scenario
	usage
	calls   []time.Time // made by the tasks
	attempt figures     // of an attempt of one task; zero for the scenario of such attempts
}

// perTask returns the usage of one task, beyond the usage of its attempt.
func (r result) perTask() figures {
	return r.figures().share(r.attempt, float64(r.attempts), float64(r.tasks*r.attempts))
}

// whole returns the same including the start and the end of the attempts.
func (r result) whole() figures { return r.figures().share(figures{}, 0, float64(r.tasks*r.attempts)) }

// runAll runs scenarios, the first of which must be that of attempts of one task.
func (b *bench) runAll(ctx context.Context, list []scenario, each func(result)) error {
	var attempt figures
	for i, s := range list {
		r, err := b.run(ctx, s)
		if err != nil {
			return err
		}
		if i == 0 {
			attempt = r.whole()
		} else if s.tasks > 1 {
			r.attempt = attempt
		}
		each(r)
	}
	return nil
}

// run runs a scenario, with one run in advance to fill caches.
func (b *bench) run(ctx context.Context, s scenario) (result, error) {
	r := result{scenario: s}
	p, err := b.Push(ctx, fmt.Sprintf("bench%d", time.Now().UnixNano()), map[string]string{"main.dig": s.text})
	if err != nil {
		return r, err
	}
	attempt := func() (string, error) {
		b.session = b.session.Add(time.Minute)
		a, err := b.Start(ctx, p.Workflows["main"], b.session)
		return a.ID, err
	}
	first, err := attempt()
	if err != nil {
		return r, err
	}
	ids := []string{first}
	if err := b.settled(ctx); err != nil {
		return r, err
	}
	b.works.take()
	r.usage, err = b.measure(ctx, func() error {
		for range s.attempts {
			id, err := attempt()
			if err != nil {
				return err
			}
			ids = append(ids, id)
			if err := b.settled(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	r.calls = b.works.take()
	for _, id := range ids {
		if err != nil {
			break
		}
		if a, e := b.Wait(ctx, id); e != nil || !a.Success {
			err = fmt.Errorf("%s: attempt %s did not succeed: %v", s.name, id, e)
		}
	}
	return r, err
}
