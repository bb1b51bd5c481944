package catalogue

import (
	"context"
	"fmt"
	"time"

	"zerodag/engine/claim"
	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
	"zerodag/engine/schedule"
	"zerodag/internal/host"
	"zerodag/internal/replay"
	"zerodag/operators/run"
)

// slotOf returns the slot that an attempt needs before its first task, or nil. backfill means that a user requested
// this particular session, which is never skipped.
func (c lifecycle) slotOf(d replay.Definition, params *param.Map, session time.Time, backfill bool) (*claim.Pool, error) {
	limit := keys.ConcurrencyOf(d.Workflow.Config)
	if limit.Attempts == 0 {
		return nil, nil
	}
	key, err := c.keyOf(limit, params, session, d.Compiled.Zone)
	if err != nil {
		return nil, err
	}
	if backfill && limit.OnLimit == keys.LimitSkip {
		limit.OnLimit = keys.LimitWait
	}
	return &claim.Pool{Name: host.ConcurrencyPool(d.Workflow.Name, key), Slots: 1, Size: limit.Attempts, OnLimit: limit.OnLimit}, nil
}

func (c lifecycle) keyOf(limit keys.Concurrency, params *param.Map, session time.Time, zone *time.Location) (string, error) {
	return limit.KeyFor(param.Merge(param.Merge(c.o.Defaults, params), run.SessionTimes(session.In(zone))))
}

// mayBeOneMore reports whether an attempt of a workflow may start, or wait. It uses the current state of the stores, so
// two attempts that start at the same moment may both be allowed: the engine and package delivery resolve that.
func (c lifecycle) mayBeOneMore(ctx context.Context, d replay.Definition, r StartRequest) error {
	limit := keys.ConcurrencyOf(d.Workflow.Config)
	if limit.Attempts == 0 || limit.OnLimit != keys.LimitSkip && limit.MaxWaiting == 0 {
		return nil
	}
	key, err := c.keyOf(limit, r.Params, r.SessionTime, d.Compiled.Zone)
	if err != nil {
		return userError(err)
	}
	most := limit.Attempts + limit.MaxWaiting
	active, err := c.activeOf(ctx, d.Workflow, most, func(a host.Attempt) bool {
		zone, err := schedule.Zone(a.Zone)
		if err != nil {
			return false
		}
		its, err := c.keyOf(limit, a.Params, a.SessionTime, zone)
		return err == nil && its == key && a.AfterSession == 0 && !a.StartsAt.After(c.o.Now())
	})
	if err != nil || len(active) < most {
		return err
	}
	earlier, err := c.earlier(ctx, d.Workflow, r)
	if err != nil {
		return err
	}
	for _, a := range earlier {
		if a.RetryName == r.RetryName {
			return nil // not an additional attempt: the caller gets the existing one
		}
	}
	text := fmt.Sprintf("Workflow '%s' is already running: attempt %d", d.Workflow.Name, active[0].ID)
	if limit.OnLimit == keys.LimitWait {
		text = fmt.Sprintf("Too many attempts of workflow '%s' are waiting: %d run or wait, and `max_waiting: %d` allows no more", d.Workflow.Name, len(active), limit.MaxWaiting)
	}
	return &refused{host.ErrAtLimit, host.Error{Code: host.Invalid, Message: text}}
}

// activeOf lists up to most unfinished attempts of a workflow, in any of its revisions, ascending by id.
func (c *stores) activeOf(ctx context.Context, w host.Workflow, most int, which func(host.Attempt) bool) ([]host.Attempt, error) {
	var of []host.Attempt
	for after := int64(0); ; {
		list, err := c.o.Sessions.Active(ctx, host.ActiveQuery{Site: w.Site, After: after, Count: atOnce})
		if err != nil {
			return nil, fmt.Errorf("read active attempts: %w", err)
		}
		for _, a := range list {
			if after = a.ID; a.Project.ID == w.Project.ID && a.Workflow.Name == w.Name && which(a) {
				if of = append(of, a); len(of) == most {
					return of, nil
				}
			}
		}
		if len(list) < atOnce {
			return of, nil
		}
	}
}
