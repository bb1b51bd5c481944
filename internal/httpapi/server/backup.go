package server

import (
	"net/http"
	"time"

	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

// getBackup responds with all data of all the server's sites.
func getBackup(c *endpoint.Call) (any, error) {
	if c.Backup == nil {
		return nil, wire.Missing("backup: the store of this server makes its own backups")
	}
	out := &begun{w: c.W}
	if err := c.Backup(c.Ctx(), out); err != nil {
		if !out.yes {
			return nil, err
		}
		c.Logger.Error("backup", "error", err)
		panic(http.ErrAbortHandler) // the client must notice that its data is incomplete
	}
	return endpoint.Written{}, nil
}

// redrive sends messages that could not be handled, from all sites, back to their queues.
func redrive(c *endpoint.Call) (any, error) {
	if c.Redrive == nil {
		return nil, wire.Missing("dead letters: the queues of this server do not keep any")
	}
	n, err := c.Redrive(c.Ctx())
	if err != nil {
		return nil, err
	}
	return map[string]int{"messages": n}, nil
}

// revive sends messages for one batch of unfinished attempts across all sites.
func revive(c *endpoint.Call) (any, error) {
	last, err := c.Number("last_id", 0)
	if err != nil {
		return nil, err
	}
	if last == 0 && c.Redrive != nil { // results in dead letters come before messages that run their tasks again
		if _, err := c.Redrive(c.Ctx()); err != nil {
			return nil, err
		}
	}
	r, err := c.Node.ReviveAll(c.Ctx(), last)
	if err != nil {
		return nil, err
	}
	return wire.Revived{Attempts: r.Attempts, Messages: r.Messages, LastID: wire.ID(r.Next), Together: r.Together, WaitSeconds: int64(r.Wait / time.Second)}, nil
}

// begun tracks whether a response has begun, after which it cannot be replaced.
type begun struct {
	w   http.ResponseWriter
	yes bool
}

func (b *begun) Write(p []byte) (int, error) {
	if !b.yes {
		b.yes = true
		b.w.Header().Set("Content-Type", wire.GzipType)
	}
	return b.w.Write(p)
}
