package httpapi

import (
	"time"

	"zerodag/internal/host"
)

const (
	// poolPage is the largest page of pools.
	poolPage = 100
	// shownClaims is how many claims of a line are shown.
	shownClaims = 100
)

type restPool struct {
	ID        id      `json:"id"`
	Name      string  `json:"name"`
	Project   *idName `json:"project"`
	Slots     int     `json:"slots"`
	Held      bool    `json:"held"`
	CreatedAt moment  `json:"createdAt"`
	UpdatedAt moment  `json:"updatedAt"`
}

type restTaken struct {
	AttemptID id     `json:"attemptId"`
	Task      id     `json:"taskId"`
	Number    int    `json:"slot"`
	At        moment `json:"since"`
}

type restClaim struct {
	AttemptID id     `json:"attemptId"`
	Task      id     `json:"taskId"`
	Slots     int    `json:"slots"`
	Priority  int    `json:"priority"`
	Since     moment `json:"since"`
}

// restLine is a pool with who has its slots and who waits.
type restLine struct {
	restPool
	Taken   []restTaken `json:"taken"`
	Waiting []restClaim `json:"waiting"`
	All     bool        `json:"all"` // false: more claims wait
}

type poolBody struct {
	Slots *whole `json:"slots"`
}

// pool shows a pool. Of project only the name is asked for.
func (c *call) pool(p host.Pool) (restPool, error) {
	shown := restPool{ID: id(p.ID), Name: p.Name, Slots: p.Slots, Held: p.Held, CreatedAt: moment(p.CreatedAt), UpdatedAt: moment(p.UpdatedAt)}
	if p.Project != 0 {
		of, err := c.Node.Project(c.ctx(), c.actor.Site, p.Project)
		if err != nil {
			return shown, found(err, "project id=%d", p.Project)
		}
		shown.Project = &idName{id(of.ID), of.Name}
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
	shown := make([]restPool, len(list))
	for i, p := range list {
		if shown[i], err = c.pool(p); err != nil {
			return nil, err
		}
	}
	return map[string][]restPool{"pools": shown}, nil
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
	shown := restLine{All: len(l.Waiting) <= shownClaims, Taken: []restTaken{}, Waiting: []restClaim{}}
	if shown.restPool, err = c.pool(p); err != nil {
		return nil, err
	}
	for _, s := range l.Taken {
		h, err := host.ParseHolder(s.Holder)
		if err != nil {
			return nil, err
		}
		shown.Taken = append(shown.Taken, restTaken{id(h.Attempt), id(h.Task), s.Number, moment(s.At)})
	}
	for _, w := range l.Waiting[:min(len(l.Waiting), shownClaims)] {
		h, err := host.ParseHolder(w.Holder)
		if err != nil {
			return nil, err
		}
		shown.Waiting = append(shown.Waiting, restClaim{id(h.Attempt), id(h.Task), w.Slots, w.Priority, moment(time.UnixMilli(w.Since).UTC())})
	}
	return shown, nil
}

func putPool(c *call) (any, error) {
	var b poolBody
	if err := c.read(&b, false); err != nil {
		return nil, err
	}
	if b.Slots == nil {
		return nil, notSet("slots")
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
