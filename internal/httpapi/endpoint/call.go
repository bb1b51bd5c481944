package endpoint

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"zerodag/internal/console"
	"zerodag/internal/httpapi/access"
	"zerodag/internal/httpapi/wire"
	"zerodag/internal/scope"
)

// Call is one request that is being handled.
type Call struct {
	*Server
	*access.Caller
	Vars  map[string]string // of the path
	query url.Values
	// Target is the changed object, for the audit log.
	Target string
	// Why is the caller's reason for the change, for the audit log; "" for none.
	Why string
	// Dry means that nothing was changed.
	Dry bool
	// MostBody is the limit of a JSON body if it is less than the general limit.
	MostBody int64
}

// NewCall returns the call for a request that a gate has admitted.
func NewCall(s *Server, by *access.Caller) *Call { return &Call{Server: s, Caller: by} }

// Confine hides everything from the caller that does not belong to the projects that they may use.
func (c *Call) Confine() {
	if !c.Actor.Confined() {
		return
	}
	s := *c.Server
	within := scope.Scope(c.Actor.Projects)
	s.Node = s.Node.Within(within.Within)
	if s.Outbox != nil {
		s.Outbox = within.Outbox(s.Outbox)
	}
	s.Console = &console.Console{Catalogue: s.Node.Catalogue, Now: s.Now}
	c.Server = &s
}

// Ctx returns the request's context, with its time limit.
func (c *Call) Ctx() context.Context { return c.R.Context() }

// ErrUnreadable means that a number in a path or query is invalid. Digdag responds to such requests with an empty 404.
var ErrUnreadable = errors.New("path or query cannot be read")

// ID reads an id from the path.
func (c *Call) ID(name string) (int64, error) { return number(c.Vars[name]) }

func number(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, ErrUnreadable
	}
	return n, nil
}

// List returns all values of a query parameter.
func (c *Call) List(name string) []string {
	return c.parameters()[name]
}

// Arg returns a query parameter and whether it was given.
func (c *Call) Arg(name string) (string, bool) {
	list := c.List(name)
	if len(list) == 0 {
		return "", false
	}
	return list[0], true
}

// Text returns a query parameter; "" if it was not given.
func (c *Call) Text(name string) string {
	v, _ := c.Arg(name)
	return v
}

// Required returns a query parameter, or an error if it is missing.
func (c *Call) Required(name string) (string, error) {
	v, ok := c.Arg(name)
	if !ok {
		return "", wire.Invalid("%s= is required", name)
	}
	return v, nil
}

// Number reads a query parameter; it returns otherwise if the parameter was not given.
func (c *Call) Number(name string, otherwise int64) (int64, error) {
	v, ok := c.Arg(name)
	if !ok {
		return otherwise, nil
	}
	return number(v)
}

// Flag reads a query parameter that CheckQuery has checked.
func (c *Call) Flag(name string) bool { return strings.EqualFold(c.Text(name), "true") }

// PageSize reads page_size. A negative value means the largest allowed, because a store without a limit would return
// everything.
func (c *Call) PageSize(most int) (int, error) {
	n, err := c.Number("page_size", int64(most))
	switch {
	case err != nil:
		return 0, err
	case n > int64(most):
		return 0, wire.Invalid("Your specified page_size is %d, but it is larger than MAX_PAGE_SIZE: %d. You must specify page_size with a number which is smaller than %d.", n, most, most)
	case n < 0:
		return most, nil
	}
	return int(n), nil
}

// Before reads last_id of a descending list; 0 means that it is absent. If the given value is 0 or less, it returns -1:
// no id is below such a value, but stores interpret 0 as the whole list.
func (c *Call) Before() (int64, error) {
	last, err := c.Number("last_id", 0)
	if _, given := c.Arg("last_id"); given && last <= 0 {
		last = -1
	}
	return last, err
}

// Page reads last_id and page_size.
func (c *Call) Page(most int) (last int64, size int, err error) {
	if last, err = c.Before(); err != nil {
		return 0, 0, err
	}
	size, err = c.PageSize(most)
	return last, size, err
}

// Counting reads a requested number of rows, from 1 to most.
func (c *Call) Counting(name string, otherwise, most int64) (int, error) {
	n, err := c.Number(name, otherwise)
	if err == nil && (n < 1 || n > most) {
		err = wire.Invalid("%s= must be from 1 to %d, not %d", name, most, n)
	}
	return int(n), err
}

// Outside reports whether the caller's parameters are only data: only callers who may push may provide code.
func (c *Call) Outside() bool { return c.Actor.Role < access.Developer }

// Links reports whether this client may be sent to the store.
func (c *Call) Links() bool {
	_, given := c.Arg("direct_download")
	return c.Direct && (!given || c.Flag("direct_download"))
}
