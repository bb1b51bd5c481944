package schedules

import (
	"time"

	"zerodag/internal/host"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

// poolPage is the maximum size of a page of pools.
const poolPage = 100

// shownPool shows a pool. It reads only the project's name.
func shownPool(c *endpoint.Call, p host.Pool) (wire.Pool, error) {
	shown := wire.Pool{ID: wire.ID(p.ID), Name: p.Name, Slots: p.Slots, Held: p.Held, CreatedAt: wire.Moment(p.CreatedAt), UpdatedAt: wire.Moment(p.UpdatedAt)}
	if p.Project != 0 {
		of, err := c.Node.Project(c.Ctx(), c.Actor.Site, p.Project)
		if err != nil {
			return shown, wire.OrMissing(err, "project id=%d", p.Project)
		}
		shown.Project = &wire.IDName{ID: wire.ID(of.ID), Name: of.Name}
	}
	return shown, nil
}

// poolRef reads which pool a request is about: one of the site, or with project= one of that project.
func poolRef(c *endpoint.Call) (host.PoolRef, error) {
	ref := host.PoolRef{Site: c.Actor.Site, Name: c.Vars["name"]}
	c.Target = "pool " + ref.Name
	name, given := c.Arg("project")
	if !given && c.Actor.Confined() { // their tasks may use the site's pools, but they must not see who else does
		return ref, wire.Missing("pool name=%s", ref.Name)
	}
	if !given {
		return ref, nil
	}
	p, err := c.ProjectNamed(name)
	if err != nil {
		return ref, err
	}
	ref.Project = p.ID
	c.Target += " of project " + p.Name
	return ref, nil
}

func getPools(c *endpoint.Call) (any, error) {
	last, err := c.Number("last_id", 0)
	if err != nil {
		return nil, err
	}
	size, err := c.PageSize(poolPage)
	if err != nil {
		return nil, err
	}
	var list []host.Pool
	if size > 0 {
		if list, err = c.Node.Pools(c.Ctx(), host.PoolQuery{Site: c.Actor.Site, After: last, Count: size}); err != nil {
			return nil, err
		}
	}
	shown := make([]wire.Pool, len(list))
	for i, p := range list {
		if shown[i], err = shownPool(c, p); err != nil {
			return nil, err
		}
	}
	return map[string][]wire.Pool{"pools": shown}, nil
}

func getPool(c *endpoint.Call) (any, error) {
	ref, err := poolRef(c)
	if err != nil {
		return nil, err
	}
	p, l, err := c.Node.Pool(c.Ctx(), ref, wire.MostClaims+1)
	if err != nil {
		return nil, err
	}
	shown := wire.Line{All: len(l.Waiting) <= wire.MostClaims, Taken: []wire.Taken{}, Waiting: []wire.Claim{}}
	if shown.Pool, err = shownPool(c, p); err != nil {
		return nil, err
	}
	for _, s := range l.Taken {
		h, err := host.ParseHolder(s.Holder)
		if err != nil {
			return nil, err
		}
		shown.Taken = append(shown.Taken, wire.Taken{AttemptID: wire.ID(h.Attempt), Task: wire.ID(h.Task), Number: s.Number, At: wire.Moment(s.At)})
	}
	for _, w := range l.Waiting[:min(len(l.Waiting), wire.MostClaims)] {
		h, err := host.ParseHolder(w.Holder)
		if err != nil {
			return nil, err
		}
		shown.Waiting = append(shown.Waiting, wire.Claim{AttemptID: wire.ID(h.Attempt), Task: wire.ID(h.Task), Slots: w.Slots, Priority: w.Priority, Since: wire.Moment(time.UnixMilli(w.Since).UTC())})
	}
	return shown, nil
}

func putPool(c *endpoint.Call) (any, error) {
	var b wire.PoolBody
	if err := c.Read(&b, false); err != nil {
		return nil, err
	}
	if b.Slots == nil {
		return nil, wire.NotSet("slots")
	}
	ref, err := poolRef(c)
	if err != nil {
		return nil, err
	}
	p, err := c.Node.SetPool(c.Ctx(), ref, int64(*b.Slots))
	if err != nil {
		return nil, err
	}
	return shownPool(c, p)
}

func deletePool(c *endpoint.Call) (any, error) {
	ref, err := poolRef(c)
	if err != nil {
		return nil, err
	}
	p, err := c.Node.DeletePool(c.Ctx(), ref)
	if err != nil {
		return nil, err
	}
	return shownPool(c, p)
}

func holdPool(c *endpoint.Call) (any, error) { return changeHold(c, true) }

func releasePool(c *endpoint.Call) (any, error) { return changeHold(c, false) }

func changeHold(c *endpoint.Call, held bool) (any, error) {
	ref, err := poolRef(c)
	if err != nil {
		return nil, err
	}
	p, err := c.Node.HoldPool(c.Ctx(), ref, held)
	if err != nil {
		return nil, err
	}
	return shownPool(c, p)
}
