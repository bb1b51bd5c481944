package httpapi

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"zerodag/internal/httpapi/wire"
)

// call is one request on its way.
type call struct {
	*api
	w     http.ResponseWriter
	r     *http.Request
	vars  map[string]string
	query url.Values
	actor Actor
	// target is what a change was made to, for the audit log.
	target string
	// why is the reason that the caller has given for it, for the audit log; "" for none.
	why string
	dry bool // nothing was changed: a dry run
	// mostBody is the size of a JSON body where it is less than that of all.
	mostBody int64
}

func (c *call) ctx() context.Context { return c.r.Context() }

// errUnreadable: a number in a path or query that is none. The original answers such with
// an empty 404.
var errUnreadable = errors.New("path or query cannot be read")

// id reads an id of the path.
func (c *call) id(name string) (int64, error) { return number(c.vars[name]) }

func number(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, errUnreadable
	}
	return n, nil
}

// list returns all values of a query parameter.
func (c *call) list(name string) []string {
	if c.query == nil {
		c.query = c.r.URL.Query()
	}
	return c.query[name]
}

// arg returns a query parameter and whether it was given.
func (c *call) arg(name string) (string, bool) {
	list := c.list(name)
	if len(list) == 0 {
		return "", false
	}
	return list[0], true
}

// text returns a query parameter; "" when it was not given.
func (c *call) text(name string) string {
	v, _ := c.arg(name)
	return v
}

// required returns a query parameter that must be there.
func (c *call) required(name string) (string, error) {
	v, ok := c.arg(name)
	if !ok {
		return "", wire.Invalid("%s= is required", name)
	}
	return v, nil
}

// number reads a query parameter; otherwise is its value when it was not given.
func (c *call) number(name string, otherwise int64) (int64, error) {
	v, ok := c.arg(name)
	if !ok {
		return otherwise, nil
	}
	return number(v)
}

// flag reads a query parameter as the original does: "true" in any case, all else is false.
func (c *call) flag(name string) bool { return strings.EqualFold(c.text(name), "true") }

// pageSize reads page_size. Below zero it is the largest allowed, as a store without an
// upper bound would answer.
func (c *call) pageSize(most int) (int, error) {
	n, err := c.number("page_size", int64(most))
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

// before reads last_id of a list that descends; 0 is absent. No id is below those that it
// gives, and a store takes 0 for all.
func (c *call) before() (int64, error) {
	last, err := c.number("last_id", 0)
	if _, given := c.arg("last_id"); given && last <= 0 {
		last = -1
	}
	return last, err
}

// page reads last_id and page_size.
func (c *call) page(most int) (last int64, size int, err error) {
	if last, err = c.before(); err != nil {
		return 0, 0, err
	}
	size, err = c.pageSize(most)
	return last, size, err
}

// consumes checks the content type, unless none was given.
func (c *call) consumes(want string) error {
	given := c.r.Header.Get("Content-Type")
	if want == "" || given == "" {
		return nil
	}
	if media, _, err := mime.ParseMediaType(given); err != nil || media != want {
		return wire.Invalid("Cannot consume content type %s: %s is needed", given, want)
	}
	return nil
}
