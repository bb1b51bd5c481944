package server

import (
	"errors"
	"slices"
	"sync"

	"zerodag/internal/console"
	"zerodag/internal/host"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

// How many letters of a queue are listed, and how many are searched for a single one.
const (
	usualLetters = 50
	mostLetters  = 100
	mostLookedAt = 1000
)

func deadLetters(c *endpoint.Call) ([]host.DeadLetters, error) {
	if len(c.Dead) == 0 {
		return nil, wire.Missing("dead letters: the queues of this server do not keep any")
	}
	return c.Dead, nil
}

// getLetters lists the dead letters of all sites, and leaves them in their queues.
func getLetters(c *endpoint.Call) (any, error) {
	dead, err := deadLetters(c)
	if err != nil {
		return nil, err
	}
	n, err := c.Counting("count", usualLetters, mostLetters)
	if err != nil {
		return nil, err
	}
	found, cut, errs := make([][]wire.Looked, len(dead)), make([]bool, len(dead)), make([]error, len(dead))
	var all sync.WaitGroup
	for i, d := range dead {
		all.Go(func() {
			errs[i] = d.Look(c.Ctx(), func(l host.DeadLetter) bool {
				if cut[i] = len(found[i]) == n; !cut[i] {
					found[i] = append(found[i], wire.Look(l))
				}
				return !cut[i]
			})
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	list := slices.Concat(found...)
	slices.SortStableFunc(list, func(a, b wire.Looked) int { return a.Sent.Compare(b.Sent) })
	letters, err := shownLetters(c, list)
	return wire.Letters{At: wire.Millis(c.Now()), Letters: letters, All: !slices.Contains(cut, true)}, err
}

func shownLetters(c *endpoint.Call, list []wire.Looked) ([]wire.Letter, error) {
	subjects := wire.Each(list, func(l wire.Looked) console.Subject { return l.Subject })
	if err := c.Console.Introduce(c.Ctx(), subjects); err != nil {
		return nil, err
	}
	letters := make([]wire.Letter, len(list))
	for i, l := range list {
		letters[i] = wire.Letter{ID: l.ID, Queue: l.Queue, Name: wire.Beginning(l.Message.ID), Sent: wire.Millis(l.Sent), Deliveries: l.DeadLetter.Count, Returned: l.Times, Size: l.Size,
			Broken: wire.TextOrNull(wire.Beginning(l.Broken)), Subject: wire.SubjectOf(subjects[i])}
	}
	return letters, nil
}

// getLetter shows one dead letter.
func getLetter(c *endpoint.Call) (any, error) {
	dead, err := deadLetters(c)
	if err != nil {
		return nil, err
	}
	for _, d := range dead {
		var r wire.LetterBody
		var found []wire.Looked
		seen := 0
		err := d.Look(c.Ctx(), func(l host.DeadLetter) bool {
			if l.ID == c.Vars["letter"] {
				found, r.Body = []wire.Looked{wire.Look(l)}, console.ShownBody(l.Body)
			}
			seen++
			return len(found) == 0 && seen < mostLookedAt
		})
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			continue
		}
		letters, err := shownLetters(c, found)
		if err != nil {
			return nil, err
		}
		r.Letter = letters[0]
		return r, nil
	}
	return nil, noLetter(c)
}

func noLetter(c *endpoint.Call) error {
	return wire.Missing("dead letter id=%s: it was sent back, or it was listed less than half a minute ago and is hidden", wire.Beginning(c.Vars["letter"]))
}

// redriveLetter sends one dead letter back to its queue.
func redriveLetter(c *endpoint.Call) (any, error) {
	dead, err := deadLetters(c)
	if err != nil {
		return nil, err
	}
	c.Target = "dead letter " + wire.Beginning(c.Vars["letter"])
	for _, d := range dead {
		err := d.Return(c.Ctx(), c.Vars["letter"])
		if err == nil {
			return map[string]int{"messages": 1}, nil
		}
		if !errors.Is(err, host.ErrNotFound) {
			return nil, err
		}
	}
	return nil, noLetter(c)
}
