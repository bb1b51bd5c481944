package server

import (
	"time"

	"zerodag/internal/host"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

func getAudit(c *endpoint.Call) (any, error) {
	last, size, err := c.Page(auditPage)
	if err != nil {
		return nil, err
	}
	q := host.AuditQuery{Site: c.Actor.Site, Who: c.Text("who"), Action: c.Text("action"), Target: c.Text("target"), Refused: c.Flag("refused"), Before: last, Count: size}
	if q.From, err = instantAsked(c, "from"); err != nil {
		return nil, err
	}
	if q.Until, err = instantAsked(c, "to"); err != nil {
		return nil, err
	}
	var list []host.Record
	if c.Auth.Audit != nil && size > 0 {
		if list, err = c.Auth.Audit.Audits(c.Ctx(), q); err != nil {
			return nil, err
		}
	}
	return wire.Collection("audits", list, wire.RecordOf), nil
}

// instantAsked reads a time from the query; zero if it is missing.
func instantAsked(c *endpoint.Call, name string) (time.Time, error) {
	text, given := c.Arg(name)
	if !given {
		return time.Time{}, nil
	}
	for _, read := range []func(string) (time.Time, error){wire.ParseInstant, func(s string) (time.Time, error) { return time.Parse(time.DateOnly, s) }} {
		if t, err := read(text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, wire.Invalid("%s= must be a date (midnight UTC) or an instant such as 2026-01-31T12:00:00Z, not %q", name, text)
}

// auditPage is the maximum size of an audit log page.
const auditPage = 100
