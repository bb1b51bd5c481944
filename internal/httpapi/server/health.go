package server

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"syscall"
	"time"

	"zerodag/docs"
	"zerodag/internal/host"
	"zerodag/internal/httpapi/endpoint"
)

type restHealth struct {
	Status  string `json:"status"` // "ok" or "unavailable"
	Version string `json:"version"`
	Reason  string `json:"reason,omitempty"` // "disk-full", "read-only", "stopping" or "store"
}

// getLive responds as long as the process serves requests, regardless of the store's state: a restart would not help
// the store.
func getLive(c *endpoint.Call) (any, error) {
	return restHealth{Status: "ok", Version: c.Version}, nil
}

// getHealth runs the cheapest query against the store, and checks whether the store can be written to. It needs no
// authentication: load balancers call it. A server that shuts down is unavailable from then on.
func (r *Room) getHealth(c *endpoint.Call) (any, error) {
	select {
	case <-c.Draining:
		return unavailable(c, "stopping"), nil
	default:
	}
	ctx, cancel := context.WithTimeout(c.Ctx(), patience)
	defer cancel()
	_, err := c.Node.NextFiring(ctx)
	if errors.Is(err, host.ErrNotFound) {
		err = nil
	}
	if err == nil {
		err = r.writable(c)
	}
	if err != nil {
		c.Logger.Warn("health check failed", "error", err)
		return unavailable(c, reason(err)), nil
	}
	return restHealth{Status: "ok", Version: c.Version}, nil
}

func unavailable(c *endpoint.Call, reason string) endpoint.WithStatus {
	c.W.Header().Set("Retry-After", "1")
	return endpoint.WithStatus{Status: http.StatusServiceUnavailable, Body: restHealth{"unavailable", c.Version, reason}}
}

// reason is the public description of a fault: one word.
func reason(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "disk-full"
	case errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return "read-only"
	}
	return "store"
}

// probed is the result of the last test write.
type probed struct {
	mu  sync.Mutex
	at  time.Time
	err error
}

// patience is how long a store may take to respond; a hanging store counts as unavailable.
const patience = 5 * time.Second

// probeEvery limits how often unauthenticated callers can make the server write.
const probeEvery = time.Second

func (r *Room) writable(c *endpoint.Call) error {
	if c.Writable == nil {
		return nil
	}
	r.probed.mu.Lock()
	defer r.probed.mu.Unlock()
	if now := c.Now(); now.Sub(r.probed.at) >= probeEvery {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Ctx()), patience)
		defer cancel()
		r.probed.at, r.probed.err = now, c.Writable(ctx)
	}
	return r.probed.err
}

func getOpenAPI(*endpoint.Call) (any, error) {
	return endpoint.Document{Type: "application/yaml", Text: docs.OpenAPI}, nil
}
