package server

import (
	"zerodag/internal/host"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

func getAudit(c *endpoint.Call) (any, error) {
	last, size, err := c.Page(auditPage)
	if err != nil {
		return nil, err
	}
	var list []host.Record
	if c.Auth.Audit != nil && size > 0 {
		if list, err = c.Auth.Audit.Audits(c.Ctx(), c.Actor.Site, last, size); err != nil {
			return nil, err
		}
	}
	return wire.Collection("audits", list, wire.RecordOf), nil
}

// auditPage is the largest page of the audit log.
const auditPage = 100
