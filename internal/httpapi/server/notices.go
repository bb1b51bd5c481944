package server

import (
	"errors"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

// noticePage is the maximum size of a page of notices.
const noticePage = 100

// outbox returns the store of notices.
func outbox(c *endpoint.Call) (host.Outbox, error) {
	if c.Outbox == nil {
		return nil, wire.Missing("notifications: this deployment sends them to a topic and keeps none")
	}
	return c.Outbox, nil
}

// getNotices lists the notices of the caller's site that are not delivered.
func getNotices(c *endpoint.Call) (any, error) {
	store, err := outbox(c)
	if err != nil {
		return nil, err
	}
	q := host.NoticeQuery{Site: c.Actor.Site, GivenUp: c.Flag("given_up")}
	if q.After, err = c.Number("last_id", 0); err != nil {
		return nil, err
	}
	if q.Attempt, err = c.Number("attempt", 0); err != nil {
		return nil, err
	}
	if q.Count, err = c.Counting("count", noticePage, noticePage); err != nil {
		return nil, err
	}
	list, err := store.Notices(c.Ctx(), q)
	if err != nil {
		return nil, err
	}
	return wire.Collection("notices", list, wire.NoticeOf), nil
}

// retryNotice sends one notice again, now.
func retryNotice(c *endpoint.Call) (any, error) {
	store, err := outbox(c)
	if err != nil {
		return nil, err
	}
	id, err := c.ID("id")
	if err != nil {
		return nil, err
	}
	c.Target = "notification " + c.Vars["id"]
	list, err := store.Notices(c.Ctx(), host.NoticeQuery{Site: c.Actor.Site, ID: id})
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, wire.Missing("notification id=%d: it was delivered, or never stored", id)
	}
	return retried(c, store, list)
}

// retryNotices retries all of the site's notices that were given up on.
func retryNotices(c *endpoint.Call) (any, error) {
	store, err := outbox(c)
	if err != nil {
		return nil, err
	}
	c.Target = "notifications"
	list, err := store.Notices(c.Ctx(), host.NoticeQuery{Site: c.Actor.Site, GivenUp: true})
	if err != nil {
		return nil, err
	}
	return retried(c, store, list)
}

// retried makes notices due now, for another period of retries.
func retried(c *endpoint.Call, store host.Outbox, list []host.StoredNotice) (any, error) {
	n := 0
	for _, x := range list {
		before := x.Tries
		x.Tries, x.Since, x.GivenUpAt = 0, c.Now().UTC(), time.Time{}
		x.Due = x.Since
		switch err := store.UpdateNotice(c.Ctx(), x, before); {
		case err == nil:
			n++
		case !errors.Is(err, host.ErrConflict): // otherwise a delivery is in progress
			return nil, err
		}
	}
	return map[string]int{"notices": n}, nil
}
