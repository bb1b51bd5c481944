package httpapi

import (
	"context"
	"errors"
	"strings"

	"zerodag/internal/host"
	"zerodag/internal/httpapi/wire"
)

// audit records a change that was made, or one that the caller was not allowed to make. A
// record that cannot be written does not undo what was done: the server's log tells of it.
func (c *call) audit(rt *route, outcome error) {
	var denied *refusal
	if c.Auth.Audit == nil || c.dry || outcome != nil && !errors.As(outcome, &denied) {
		return
	}
	r := host.Record{At: c.Now().UTC(), Site: c.actor.Site, Who: c.actor.Name, Action: rt.change, Target: c.target, Detail: c.why}
	if r.Target == "" {
		r.Target = strings.TrimPrefix(c.r.URL.Path, "/api/")
	}
	if denied != nil {
		r.Detail = denied.message
	}
	// The client may be gone; its change is done all the same.
	if err := c.Auth.Audit.Record(context.WithoutCancel(c.ctx()), r); err != nil {
		c.Logger.Error("change is not in the audit log", "action", r.Action, "target", r.Target, "who", r.Who, "error", err)
	}
}

func getAudit(c *call) (any, error) {
	last, size, err := c.page(auditPage)
	if err != nil {
		return nil, err
	}
	var list []host.Record
	if c.Auth.Audit != nil && size > 0 {
		if list, err = c.Auth.Audit.Audits(c.ctx(), c.actor.Site, last, size); err != nil {
			return nil, err
		}
	}
	return wire.Collection("audits", list, wire.RecordOf), nil
}

// auditPage is the largest page of the audit log.
const auditPage = 100
