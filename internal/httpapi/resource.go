package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"zerodag/internal/httpapi/endpoint"
)

// resource is a path with its methods.
type resource struct {
	segments []string
	methods  map[string]*endpoint.Route
}

// routes holds resources by their number of segments.
type routes map[int][]*resource

func newRoutes(list []endpoint.Route) routes {
	byPath, rs := map[string]*resource{}, routes{}
	for i := range list {
		rt := &list[i]
		res := byPath[rt.Path]
		if res == nil {
			res = &resource{segments: strings.Split(rt.Path, "/"), methods: map[string]*endpoint.Route{}}
			byPath[rt.Path] = res
			rs[len(res.segments)] = append(rs[len(res.segments)], res)
		}
		res.methods[rt.Method] = rt
	}
	return rs
}

// find returns the resource of an escaped path and its variables; nil for none. A name at the end of a path may contain
// slashes, because gateways decode the path (docs/aws.md).
func (rs routes) find(path string) (*resource, map[string]string) {
	segments := strings.Split(strings.TrimSuffix(path, "/"), "/")
	for i, s := range segments {
		text, err := url.PathUnescape(s)
		if err != nil {
			return nil, nil
		}
		segments[i] = text
	}
	for _, res := range rs[len(segments)] {
		if vars, ok := res.match(segments); ok {
			return res, vars
		}
	}
	for n := len(segments) - 1; n > 0; n-- {
		joined := append(slices.Clone(segments[:n-1]), strings.Join(segments[n-1:], "/"))
		for _, res := range rs[n] {
			if vars, ok := res.match(joined); ok && res.endsWithName() {
				return res, vars
			}
		}
	}
	return nil, nil
}

// endsWithName reports whether the last segment is a name that users chose, as opposed to a number.
func (res *resource) endsWithName() bool {
	last := res.segments[len(res.segments)-1]
	return strings.HasPrefix(last, "{") && !strings.HasSuffix(last, "id}")
}

func (res *resource) match(segments []string) (map[string]string, bool) {
	vars := map[string]string{}
	for i, s := range res.segments {
		switch {
		case strings.HasPrefix(s, "{"):
			vars[strings.Trim(s, "{}")] = segments[i]
		case s != segments[i]:
			return nil, false
		}
	}
	return vars, true
}

// route returns the endpoint for a method; HEAD is a GET whose body is not sent.
func (res *resource) route(method string) *endpoint.Route {
	if res == nil {
		return nil
	}
	if method == http.MethodHead {
		method = http.MethodGet
	}
	return res.methods[method]
}

// open reports whether a method may be called without authentication.
func (res *resource) open(method string) bool {
	rt := res.route(method)
	return rt != nil && rt.Role == 0
}

// allow lists the methods as Digdag does: its order is that of a Java hash set.
func (res *resource) allow() string {
	var list []string
	for _, m := range []string{"HEAD", "DELETE", "POST", "GET", "OPTIONS", "PUT"} {
		if m == "OPTIONS" || res.route(m) != nil {
			list = append(list, m)
		}
	}
	return strings.Join(list, ", ")
}
