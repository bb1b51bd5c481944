package endpoint

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"zerodag/internal/httpapi/wire"
)

// Form describes how a query parameter is written. A name has the same form in all endpoints.
type Form int

// The forms.
const (
	Single Form = iota // given at most once
	List               // may be repeated
	Flag               // true or false, at most once
)

// FormOf returns the form of the query parameter with the given name.
func FormOf(name string) Form {
	switch name {
	case "clear_schedule", "label", "tag":
		return List
	case "clear_schedule_all", "direct_download", "every", "given_up", "include_retried", "open", "place", "refused", "search_project_name":
		return Flag
	}
	return Single
}

// CheckQuery returns an error if a parameter that is not a list is repeated, or if a flag is neither true nor false:
// picking one of two values, or reading a typo as false, would hide the caller's mistake.
func (c *Call) CheckQuery() error {
	query := c.parameters()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		form, values := FormOf(name), query[name]
		if form != List && len(values) > 1 {
			return wire.Invalid("%s= is given %d times: give it once", wire.Beginning(name), len(values))
		}
		if form == Flag && !isDigdags(name) && !strings.EqualFold(values[0], "true") && !strings.EqualFold(values[0], "false") {
			return wire.Invalid("%s= must be true or false, not %q", name, wire.Beginning(values[0]))
		}
	}
	return nil
}

// isDigdags reports whether a flag is read the way Digdag reads it, because its clients may write 1: "true" in upper or
// lower case is true, and everything else is false.
func isDigdags(flag string) bool { return flag == "include_retried" || flag == "direct_download" }

// parameters returns the query, which is parsed once.
func (c *Call) parameters() url.Values {
	if c.query == nil {
		c.query = c.R.URL.Query()
	}
	return c.query
}
