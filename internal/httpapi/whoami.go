package httpapi

import "zerodag/internal/httpapi/wire"

// getCaller answers with who asks, and how it has shown that.
func getCaller(c *call) (any, error) {
	return wire.Caller{Name: wire.TextOrNull(c.actor.Name), By: c.actor.By, Role: c.actor.Role.String(), Site: c.actor.Site}, nil
}
