package projects

import (
	"slices"
	"strings"

	"zerodag/internal/host"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

// mostServed is the maximum number of projects that a site's secret may name.
const mostServed = 50

// getSiteSecrets lists the secrets of the caller's site. A caller who may use only some projects sees only the secrets
// that these projects may use, and the names of no other projects.
func getSiteSecrets(c *endpoint.Call) (any, error) {
	list, err := c.Node.SiteSecrets(c.Ctx(), c.Actor.Site)
	if err != nil {
		return nil, err
	}
	shown := []wire.SiteSecret{}
	for _, s := range list {
		named := len(s.Projects) > 0
		s.Projects = slices.DeleteFunc(s.Projects, func(name string) bool { return !c.Actor.MayUse(name) })
		if !named || len(s.Projects) > 0 {
			shown = append(shown, wire.SiteSecret(s))
		}
	}
	return map[string][]wire.SiteSecret{"secrets": shown}, nil
}

func putSiteSecret(c *endpoint.Call) (any, error) {
	var b wire.SiteSecretBody
	if err := c.Read(&b, false); err != nil {
		return nil, err
	}
	if b.Value == nil {
		return nil, wire.NotSet("value")
	}
	s := host.SiteSecret{Key: c.Vars["key"], Projects: b.Projects}
	if !validSecretKey(s.Key) || len(*b.Value) > secretValueMost {
		return nil, wire.Invalid("Invalid secret")
	}
	if len(s.Projects) > mostServed {
		return nil, wire.Invalid("A secret of the site may name at most %d projects, not %d", mostServed, len(s.Projects))
	}
	s.Projects = slices.Compact(slices.Sorted(slices.Values(s.Projects))) // nil for none
	c.Target = "secret " + s.Key + " of the site"
	if len(s.Projects) > 0 {
		c.Target += " for " + strings.Join(s.Projects, ", ")
	}
	if err := c.Node.PutSiteSecret(c.Ctx(), c.Actor.Site, s, string(*b.Value)); err != nil {
		return nil, err
	}
	return wire.SiteSecret(s), nil
}

func deleteSiteSecret(c *endpoint.Call) (any, error) {
	key := c.Vars["key"]
	if !validSecretKey(key) {
		return nil, wire.Invalid("Invalid secret")
	}
	c.Target = "secret " + key + " of the site"
	if err := c.Node.DeleteSiteSecret(c.Ctx(), c.Actor.Site, key); err != nil {
		return nil, err
	}
	return map[string]string{"key": key}, nil
}
