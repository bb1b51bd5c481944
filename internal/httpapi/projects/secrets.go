package projects

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

// The limits of a secret (wire.md 3.2).
const (
	secretKeyMost   = 255
	secretValueMost = 16384 // bytes
)

func getSecrets(c *endpoint.Call) (any, error) {
	p, err := c.LivingProject()
	if err != nil {
		return nil, err
	}
	keys, err := c.Node.SecretKeys(c.Ctx(), c.Actor.Site, p.ID)
	if err != nil {
		return nil, err
	}
	list := make([]wire.SecretKey, 0, len(keys))
	for _, k := range keys {
		list = append(list, wire.SecretKey{Key: k})
	}
	shared, err := c.Node.SiteSecrets(c.Ctx(), c.Actor.Site)
	if err != nil {
		return nil, err
	}
	for _, s := range shared {
		if s.Serves(p.Name) && !slices.Contains(keys, s.Key) {
			list = append(list, wire.SecretKey{Key: s.Key, Source: "site"})
		}
	}
	slices.SortFunc(list, func(a, b wire.SecretKey) int { return cmp.Compare(a.Key, b.Key) })
	return map[string][]wire.SecretKey{"secrets": list}, nil
}

func validSecretKey(key string) bool {
	if len(key) > secretKeyMost {
		return false
	}
	segment := regexp.MustCompile(`^[a-zA-Z]([a-zA-Z0-9_-]*[a-zA-Z0-9])?$`)
	for s := range strings.SplitSeq(key, ".") {
		if !segment.MatchString(s) {
			return false
		}
	}
	return true
}

func putSecret(c *endpoint.Call) (any, error) {
	var b wire.SecretBody
	if _, err := c.ID("id"); err != nil {
		return nil, err
	}
	if err := c.Read(&b, false); err != nil {
		return nil, err
	}
	if b.Value == nil {
		return nil, wire.NotSet("value")
	}
	key := c.Vars["key"]
	if !validSecretKey(key) || len(*b.Value) > secretValueMost {
		return nil, wire.Invalid("Invalid secret")
	}
	p, err := c.LivingProject()
	if err != nil {
		return nil, err
	}
	c.Target = "secret " + key + " of project " + p.Name
	if err := c.Node.PutSecret(c.Ctx(), c.Actor.Site, p.ID, key, string(*b.Value)); err != nil {
		return nil, err
	}
	return wire.Secret{Key: key, Project: wire.IDName{ID: wire.ID(p.ID), Name: p.Name}}, nil
}

func deleteSecret(c *endpoint.Call) (any, error) {
	if _, err := c.ID("id"); err != nil {
		return nil, err
	}
	key := c.Vars["key"]
	if !validSecretKey(key) {
		return nil, wire.Invalid("Invalid secret")
	}
	p, err := c.LivingProject()
	if err != nil {
		return nil, err
	}
	c.Target = "secret " + key + " of project " + p.Name
	if err := c.Node.DeleteSecret(c.Ctx(), c.Actor.Site, p.ID, key); err != nil {
		return nil, err
	}
	return wire.Secret{Key: key, Project: wire.IDName{ID: wire.ID(p.ID), Name: p.Name}}, nil
}
