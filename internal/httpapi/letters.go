package httpapi

import (
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"zerodag/internal/console"
	"zerodag/internal/host"
)

type restLetter struct {
	ID         string  `json:"id"`
	Queue      string  `json:"queue"`
	Name       string  `json:"name"`
	Sent       int64   `json:"sent"`
	Deliveries int     `json:"deliveries"`
	Returned   int     `json:"returned"` // how often it was sent back
	Size       int     `json:"size"`
	Broken     *string `json:"broken"`
	restSubject
}

type restLetters struct {
	At      int64        `json:"at"`
	Letters []restLetter `json:"letters"`
	All     bool         `json:"all"` // whether these are all that can be seen
}

// restLetterBody is a letter with what it says.
type restLetterBody struct {
	restLetter
	Body json.RawMessage `json:"body"` // null: it cannot be read
}

// How many letters of a queue are listed, and how many are looked at for one.
const (
	usualLetters = 50
	mostLetters  = 100
	mostLookedAt = 1000
)

// looked is a letter that was seen, without its body.
type looked struct {
	host.DeadLetter
	console.Subject
}

func look(l host.DeadLetter) looked {
	x := looked{l, console.SubjectOf(l.Queue, l.Message)}
	x.Body = nil
	return x
}

func (c *call) deadLetters() ([]host.DeadLetters, error) {
	if len(c.Dead) == 0 {
		return nil, missing("dead letters: the queues of this server have none")
	}
	return c.Dead, nil
}

// getLetters lists messages that were put aside, of all sites, and leaves them where they are.
func getLetters(c *call) (any, error) {
	dead, err := c.deadLetters()
	if err != nil {
		return nil, err
	}
	n, err := c.counting("count", usualLetters, mostLetters)
	if err != nil {
		return nil, err
	}
	found, cut, errs := make([][]looked, len(dead)), make([]bool, len(dead)), make([]error, len(dead))
	var all sync.WaitGroup
	for i, d := range dead {
		all.Go(func() {
			errs[i] = d.Look(c.ctx(), func(l host.DeadLetter) bool {
				if cut[i] = len(found[i]) == n; !cut[i] {
					found[i] = append(found[i], look(l))
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
	slices.SortStableFunc(list, func(a, b looked) int { return a.Sent.Compare(b.Sent) })
	letters, err := c.letters(list)
	return restLetters{At: millis(c.Now()), Letters: letters, All: !slices.Contains(cut, true)}, err
}

func (c *call) letters(list []looked) ([]restLetter, error) {
	subjects := each(list, func(l looked) console.Subject { return l.Subject })
	if err := c.console.Introduce(c.ctx(), subjects); err != nil {
		return nil, err
	}
	letters := make([]restLetter, len(list))
	for i, l := range list {
		letters[i] = restLetter{ID: l.ID, Queue: l.Queue, Name: beginning(l.Message.ID), Sent: millis(l.Sent), Deliveries: l.DeadLetter.Count, Returned: l.Times, Size: l.Size,
			Broken: textOrNull(beginning(l.Broken)), restSubject: subject(subjects[i])}
	}
	return letters, nil
}

// getLetter shows one message that was put aside.
func getLetter(c *call) (any, error) {
	dead, err := c.deadLetters()
	if err != nil {
		return nil, err
	}
	for _, d := range dead {
		var r restLetterBody
		var found []looked
		seen := 0
		err := d.Look(c.ctx(), func(l host.DeadLetter) bool {
			if l.ID == c.vars["letter"] {
				found, r.Body = []looked{look(l)}, console.ShownBody(l.Body)
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
		letters, err := c.letters(found)
		if err != nil {
			return nil, err
		}
		r.restLetter = letters[0]
		return r, nil
	}
	return nil, c.noLetter()
}

func (c *call) noLetter() error {
	return missing("dead letter id=%s: it was sent back, or nobody can see it for half a minute after somebody has looked", beginning(c.vars["letter"]))
}

// redriveLetter sends one message that was put aside back to its queue.
func redriveLetter(c *call) (any, error) {
	dead, err := c.deadLetters()
	if err != nil {
		return nil, err
	}
	c.target = "dead letter " + beginning(c.vars["letter"])
	for _, d := range dead {
		err := d.Return(c.ctx(), c.vars["letter"])
		if err == nil {
			return map[string]int{"messages": 1}, nil
		}
		if !errors.Is(err, host.ErrNotFound) {
			return nil, err
		}
	}
	return nil, c.noLetter()
}
