package httpapi

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"syscall"
	"time"

	"zerodag/docs"
	"zerodag/internal/host"
)

type restHealth struct {
	Status  string `json:"status"` // "ok" or "unavailable"
	Version string `json:"version"`
	Reason  string `json:"reason,omitempty"` // "disk-full", "read-only" or "store"
}

// getHealth asks the store the cheapest thing there is, and whether it can be written. It
// needs no authentication: load balancers call it.
func getHealth(c *call) (any, error) {
	ctx, cancel := context.WithTimeout(c.ctx(), patience)
	defer cancel()
	_, err := c.Node.NextFiring(ctx)
	if errors.Is(err, host.ErrNotFound) {
		err = nil
	}
	if err == nil {
		err = c.writable()
	}
	if err != nil {
		c.Logger.Warn("health check failed", "error", err)
		c.w.Header().Set("Retry-After", "1")
		return withStatus{http.StatusServiceUnavailable, restHealth{"unavailable", c.Version, reason(err)}}, nil
	}
	return restHealth{Status: "ok", Version: c.Version}, nil
}

// reason is what everybody may know of a fault: one word.
func reason(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "disk-full"
	case errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return "read-only"
	}
	return "store"
}

// probed is what the last try to write came to.
type probed struct {
	mu  sync.Mutex
	at  time.Time
	err error
}

// patience is how long a store may take to answer: one that hangs is no better than one that is away.
const patience = 5 * time.Second

// probeEvery bounds how often strangers make the server write.
const probeEvery = time.Second

func (c *call) writable() error {
	if c.Writable == nil {
		return nil
	}
	c.probed.mu.Lock()
	defer c.probed.mu.Unlock()
	if now := c.Now(); now.Sub(c.probed.at) >= probeEvery {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx()), patience)
		defer cancel()
		c.probed.at, c.probed.err = now, c.Writable(ctx)
	}
	return c.probed.err
}

func getOpenAPI(*call) (any, error) { return document{"application/yaml", docs.OpenAPI}, nil }
