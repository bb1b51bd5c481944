package httpapi

import (
	"errors"
	"net/http"

	"zerodag/docs"
	"zerodag/internal/host"
)

type restHealth struct {
	Status  string `json:"status"` // "ok" or "unavailable"
	Version string `json:"version"`
}

// getHealth asks the store the cheapest thing there is. It needs no authentication: load
// balancers call it.
func getHealth(c *call) (any, error) {
	_, err := c.Host.Schedules.NextDue(c.ctx())
	if err != nil && !errors.Is(err, host.ErrNotFound) {
		c.Logger.Warn("health check failed", "error", err)
		c.w.Header().Set("Retry-After", "1")
		return withStatus{http.StatusServiceUnavailable, restHealth{"unavailable", c.Version}}, nil
	}
	return restHealth{"ok", c.Version}, nil
}

func getOpenAPI(*call) (any, error) { return document{"application/yaml", docs.OpenAPI}, nil }
