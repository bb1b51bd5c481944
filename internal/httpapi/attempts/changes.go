package attempts

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"zerodag/engine"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
	"zerodag/internal/replay"
)

// changes is a page of changes.
type changes struct {
	Changes []wire.Change `json:"changes"`
	// Next is the value of after= for the changes that follow these.
	Next int64 `json:"next"`
	// More means that more changes already exist.
	More bool `json:"more"`
	// Done means that the attempt has ended and that there are no more changes.
	Done bool  `json:"done"`
	At   int64 `json:"at"` // the server's clock

	bytes int
}

// changesPage is the maximum number of entries that are read for a page.
const changesPage = 500

func (p *changes) add(step replay.Step, s *engine.State) (more bool) {
	if p.bytes > wire.MostColumns {
		p.More = true
		return false
	}
	ch := wire.Change{Seq: step.Seq, At: wire.Millis(step.At), Task: []engine.TaskID{}, State: []string{}, Runs: []int{}, Retry: []int64{}}
	if len(step.Made) > 0 {
		ch.Made = wire.NewColumns()
		for _, id := range step.Made {
			ch.Made.Add(s, s.Task(id))
		}
		p.bytes += ch.Made.Bytes
	}
	for _, id := range step.Changed {
		t := s.Task(id)
		ch.Task, ch.State, ch.Runs, ch.Retry = append(ch.Task, id), append(ch.State, t.State.String()), append(ch.Runs, t.Runs()), append(ch.Retry, wire.Millis(t.RetryAt))
		ch.Standings.Add(s, t)
		p.bytes += wire.ChangeBytes
	}
	p.Changes, p.Next = append(p.Changes, ch), step.Seq
	return true
}

// changesAfter reads a page. It reads the attempt's row first: once the row is marked done, the history is complete.
func changesAfter(ctx context.Context, c *endpoint.Call, attempt, after int64) (*changes, error) {
	a, err := c.Node.Attempt(ctx, c.Actor.Site, attempt)
	if err != nil {
		return nil, wire.OrMissing(err, "session attempt id=%d", attempt)
	}
	p := &changes{Changes: []wire.Change{}, Next: after, At: wire.Millis(c.Now())}
	if a.AfterSession == 0 {
		if err := c.Node.Changes(ctx, a, after, changesPage, p.add); err != nil {
			return nil, err
		}
	}
	p.More = p.More || len(p.Changes) == changesPage
	p.Done = a.Done && !p.More
	return p, nil
}

// getChanges responds with a page, or follows the attempt if the caller accepts an event stream.
func getChanges(c *endpoint.Call) (any, error) {
	n, err := c.ID("id")
	if err != nil {
		return nil, err
	}
	after, err := c.Number("after", 0)
	if err != nil {
		return nil, err
	}
	if after < 0 {
		return nil, wire.Invalid("after= must be 0 or the number of an entry, not %d", after)
	}
	if !strings.Contains(c.R.Header.Get("Accept"), "text/event-stream") {
		ctx, cancel := context.WithTimeout(c.Ctx(), c.Limits.Request) // the endpoint has no limit, because of streams
		defer cancel()
		return changesAfter(ctx, c, n, after)
	}
	return followChanges(c, n, after)
}

// followChanges sends page after page until the attempt has ended.
func followChanges(c *endpoint.Call, n, after int64) (any, error) {
	a, err := c.AttemptOf("id")
	if err != nil {
		return nil, err
	}
	s := streamOf(c, a)
	position := s.begin()
	if position == ended {
		return endpoint.Written{}, nil
	}
	if seen, err := strconv.ParseInt(position, 10, 64); err == nil && seen > after {
		after = seen
	}
	s.send(func(ctx context.Context, last bool) (bool, error) {
		s.told = true // if streams are short, do not wait: clients poll in that case
		for {
			p, err := changesAfter(ctx, c, n, after)
			if err != nil {
				return false, err
			}
			for _, ch := range p.Changes {
				fmt.Fprintf(s.out, "id: %d\n", ch.Seq)
				s.event("change", encode(ch))
			}
			if after = p.Next; p.Done && last {
				s.end()
			}
			if err := s.flush(); err != nil || !p.More {
				return p.Done, err
			}
		}
	})
	return endpoint.Written{}, nil
}
