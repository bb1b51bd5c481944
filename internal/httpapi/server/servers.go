package server

import (
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

// getServers lists the servers that share the database.
func getServers(c *endpoint.Call) (any, error) {
	if c.Servers == nil {
		return nil, wire.Missing("servers: functions run this deployment, and none of them keeps running")
	}
	list, now, err := c.Servers.Servers(c.Ctx())
	if err != nil {
		return nil, err
	}
	r := wire.Servers{At: wire.Moment(now), Servers: make([]wire.Server, len(list))}
	for i, s := range list {
		r.Servers[i] = wire.ServerOf(s, now)
	}
	return r, nil
}
