package httpapi

import (
	"time"

	"zerodag/internal/host"
	"zerodag/internal/httpapi/wire"
)

const (
	// poolPage is the largest page of pools.
	poolPage = 100
	// shownClaims is how many claims of a line are shown.
	shownClaims = 100
)

// pool shows a pool. Of project only the name is asked for.
func (c *call) pool(p host.Pool) (wire.Pool, error) {
	shown := wire.Pool{ID: wire.ID(p.ID), Name: p.Name, Slots: p.Slots, Held: p.Held, CreatedAt: wire.Moment(p.CreatedAt), UpdatedAt: wire.Moment(p.UpdatedAt)}
	if p.Project != 0 {
		of, err := c.Node.Project(c.ctx(), c.actor.Site, p.Project)
		if err != nil {
			return shown, wire.OrMissing(err, "project id=%d", p.Project)
		}
		shown.Project = &wire.IDName{ID: wire.ID(of.ID), Name: of.Name}
	}
	return shown, nil
}

// poolRef reads which pool a request is about: of the site, or with project= of that project.
func (c *call) poolRef() (host.PoolRef, error) {
	ref := host.PoolRef{Site: c.actor.Site, Name: c.vars["name"]}
	c.target = "pool " + ref.Name
	name, given := c.arg("project")
	if !given {
		return ref, nil
	}
	p, err := c.byName(name)
	if err != nil {
		return ref, err
	}
	ref.Project = p.ID
	c.target += " of project " + p.Name
	return ref, nil
}

func getPools(c *call) (any, error) {
	last, err := c.number("last_id", 0)
	if err != nil {
		return nil, err
	}
	size, err := c.pageSize(poolPage)
	if err != nil {
		return nil, err
	}
	var list []host.Pool
	if size > 0 {
		if list, err = c.Node.Pools(c.ctx(), host.PoolQuery{Site: c.actor.Site, After: last, Count: size}); err != nil {
			return nil, err
		}
	}
	shown := make([]wire.Pool, len(list))
	for i, p := range list {
		if shown[i], err = c.pool(p); err != nil {
			return nil, err
		}
	}
	return map[string][]wire.Pool{"pools": shown}, nil
}

func getPool(c *call) (any, error) {
	ref, err := c.poolRef()
	if err != nil {
		return nil, err
	}
	p, l, err := c.Node.Pool(c.ctx(), ref, shownClaims+1)
	if err != nil {
		return nil, err
	}
	shown := wire.Line{All: len(l.Waiting) <= shownClaims, Taken: []wire.Taken{}, Waiting: []wire.Claim{}}
	if shown.Pool, err = c.pool(p); err != nil {
		return nil, err
	}
	for _, s := range l.Taken {
		h, err := host.ParseHolder(s.Holder)
		if err != nil {
			return nil, err
		}
		shown.Taken = append(shown.Taken, wire.Taken{AttemptID: wire.ID(h.Attempt), Task: wire.ID(h.Task), Number: s.Number, At: wire.Moment(s.At)})
	}
	for _, w := range l.Waiting[:min(len(l.Waiting), shownClaims)] {
		h, err := host.ParseHolder(w.Holder)
		if err != nil {
			return nil, err
		}
		shown.Waiting = append(shown.Waiting, wire.Claim{AttemptID: wire.ID(h.Attempt), Task: wire.ID(h.Task), Slots: w.Slots, Priority: w.Priority, Since: wire.Moment(time.UnixMilli(w.Since).UTC())})
	}
	return shown, nil
}

func putPool(c *call) (any, error) {
	var b wire.PoolBody
	if err := c.read(&b, false); err != nil {
		return nil, err
	}
	if b.Slots == nil {
		return nil, wire.NotSet("slots")
	}
	ref, err := c.poolRef()
	if err != nil {
		return nil, err
	}
	p, err := c.Node.SetPool(c.ctx(), ref, int64(*b.Slots))
	if err != nil {
		return nil, err
	}
	return c.pool(p)
}

func deletePool(c *call) (any, error) {
	ref, err := c.poolRef()
	if err != nil {
		return nil, err
	}
	p, err := c.Node.DeletePool(c.ctx(), ref)
	if err != nil {
		return nil, err
	}
	return c.pool(p)
}

func holdPool(c *call) (any, error) { return c.hold(true) }

func releasePool(c *call) (any, error) { return c.hold(false) }

func (c *call) hold(held bool) (any, error) {
	ref, err := c.poolRef()
	if err != nil {
		return nil, err
	}
	p, err := c.Node.HoldPool(c.ctx(), ref, held)
	if err != nil {
		return nil, err
	}
	return c.pool(p)
}
