package server

import (
	"zerodag/internal/host"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

// How many sites are listed, and up to what number each site's unfinished attempts are counted.
const (
	mostSites   = 100
	mostCounted = 1000
)

// getSites lists the sites that share the server, each with the numbers that are cheap to count.
func getSites(c *endpoint.Call) (any, error) {
	n, err := c.Counting("count", mostSites, mostSites)
	if err != nil {
		return nil, err
	}
	after, err := c.Number("after", -1)
	if err != nil {
		return nil, err
	}
	list, err := c.Node.Sites(c.Ctx(), after, n+1)
	if err != nil {
		return nil, err
	}
	var r wire.Sites
	if len(list) > n {
		list = list[:n]
		r.Next = new(wire.ID(list[n-1].ID))
	}
	r.Sites = make([]wire.Site, len(list))
	for i, s := range list {
		if r.Sites[i], err = shownSite(c, s); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func shownSite(c *endpoint.Call, s host.Site) (r wire.Site, err error) {
	r = wire.Site{ID: wire.ID(s.ID), Projects: s.Projects}
	if r.Attempts, err = c.Node.CountActive(c.Ctx(), s.ID, mostCounted); err != nil || c.Auth.Tokens == nil {
		return r, err
	}
	tokens, err := c.Auth.Tokens.List(c.Ctx(), s.ID)
	r.Tokens = new(len(tokens))
	return r, err
}
