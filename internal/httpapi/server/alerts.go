package server

import (
	"errors"

	"zerodag/internal/host"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

// getAlerts lists the channels and routes for notices.
func getAlerts(c *endpoint.Call) (any, error) {
	if _, err := outbox(c); err != nil {
		return nil, err
	}
	if c.Alerts == nil {
		return wire.AlertsOf(nil, nil), nil
	}
	channels, err := c.Alerts.Channels(c.Ctx())
	if err != nil {
		return nil, err
	}
	return wire.AlertsOf(channels, c.Alerts.Routes()), nil
}

// testAlert sends a notice now to a channel or to all channels of a route.
func testAlert(c *endpoint.Call) (any, error) {
	if _, err := outbox(c); err != nil {
		return nil, err
	}
	name := c.Vars["name"]
	c.Target = "alert " + name
	err := host.ErrNotFound
	var list []host.NoticeTest
	if c.Alerts != nil {
		list, err = c.Alerts.Test(c.Ctx(), name)
	}
	if errors.Is(err, host.ErrNotFound) {
		return nil, wire.Missing("channel or route name=%s: the server's configuration has no alert.channels.%s and no alert.routes.%s", name, name, name)
	}
	if err != nil {
		return nil, err
	}
	return wire.Collection("tests", list, wire.AlertTestOf), nil
}
