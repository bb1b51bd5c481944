package httpapi

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/httpapi/access"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

// run handles one request: time limit, content type, handler, response, audit, metrics.
func (a *api) run(c *endpoint.Call, rt *endpoint.Route) {
	begin := c.Now()
	defer func() { a.Meter.Answered(rt.Name, c.Now().Sub(begin)) }()
	defer a.recovered(c)
	if limit := timeLimit(c, rt); limit > 0 {
		ctx, cancel := context.WithTimeout(c.R.Context(), limit)
		defer cancel()
		c.R = c.R.WithContext(ctx)
	}
	answer, err := serve(c, rt)
	if rt.Change != "" {
		audit(c, rt, err)
	}
	if err != nil {
		c.AnswerError(err)
		return
	}
	c.Answer(answer)
}

func serve(c *endpoint.Call, rt *endpoint.Route) (any, error) {
	if err := permit(c, rt); err != nil {
		return nil, err
	}
	c.R = c.R.WithContext(host.WithSite(c.Ctx(), c.Actor.Site))
	c.Confine()
	if err := consumes(c, rt.Consumes); err != nil {
		return nil, err
	}
	if err := c.Deliberate(rt.Method, rt.Consumes); err != nil {
		return nil, err
	}
	if err := c.CheckQuery(); err != nil {
		return nil, err
	}
	leave, err := c.Turn(rt.Cost)
	if err != nil {
		return nil, err
	}
	defer leave()
	return rt.Serve(c)
}

// permit checks the role. Missing paths have already been handled, because they are not secret.
func permit(c *endpoint.Call, rt *endpoint.Route) error {
	if rt.Apart && !c.Admin {
		return endpoint.ErrUnreadable
	}
	if rt.Role == access.Owner && c.Actor.Role < access.Owner {
		return access.Refuse(http.StatusForbidden, fmt.Sprintf("Access denied: this affects all sites, so it requires the role owner; %s has the role %s (use a token with that role, or the user of server.authenticator.basic with .admin = true)", c.Actor.Name, c.Actor.Role))
	}
	if rt.Site && c.Actor.Confined() {
		return access.Refuse(http.StatusForbidden, fmt.Sprintf("Access denied: this concerns a whole site, and %s may use only some of its projects (%s)", c.Actor.Name, strings.Join(c.Actor.Projects, ", ")))
	}
	if c.Actor.Role < rt.Role {
		return access.Refuse(http.StatusForbidden, fmt.Sprintf("Access denied: this requires the role %s; %s has the role %s", rt.Role, c.Actor.Name, c.Actor.Role))
	}
	return nil
}

// consumes checks the content type, unless none was given.
func consumes(c *endpoint.Call, want string) error {
	given := c.R.Header.Get("Content-Type")
	if want == "" || given == "" {
		return nil
	}
	if media, _, err := mime.ParseMediaType(given); err != nil || media != want {
		return wire.Invalid("Cannot consume content type %s: %s is needed", given, want)
	}
	return nil
}

func timeLimit(c *endpoint.Call, rt *endpoint.Route) time.Duration {
	switch rt.Kind {
	case endpoint.Transfer:
		return c.Limits.Transfer
	case endpoint.Stream:
		return c.Limits.Stream
	}
	return c.Limits.Request
}

// audit records a change that was made, or one that the caller was not allowed to make. If it cannot write the record,
// the change stays and the server logs the error.
func audit(c *endpoint.Call, rt *endpoint.Route, outcome error) {
	var denied *access.Refusal
	if c.Auth.Audit == nil || c.Dry || outcome != nil && !errors.As(outcome, &denied) {
		return
	}
	r := host.Record{At: c.Now().UTC(), Site: c.Actor.Site, Who: c.Actor.Name, Action: rt.Change, Target: c.Target, Detail: c.Why, Refused: denied != nil, Origin: c.Origin()}
	if r.Target == "" {
		r.Target = strings.TrimPrefix(c.R.URL.Path, "/api/")
	}
	if denied != nil {
		r.Detail = denied.Message
	}
	// The client may be gone, but its change was made.
	if err := c.Auth.Audit.Record(context.WithoutCancel(c.Ctx()), r); err != nil {
		c.Logger.Error("change is not in the audit log", "action", r.Action, "target", r.Target, "who", r.Who, "error", err)
	}
}

// recovered turns a panic into a 500: one broken request must not end the server.
func (a *api) recovered(c *endpoint.Call) {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler { //nolint:errorlint // a value, not a chain of errors
		panic(p)
	}
	a.Meter.Panicked()
	c.Logger.Error("request panicked", "method", c.R.Method, "path", c.R.URL.Path, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	c.Fail(http.StatusInternalServerError, "internal error")
}
