package client

import (
	"context"
	"net/http"
	"time"
)

// Pool is a number of slots that tasks share.
type Pool struct {
	ID        ID        `json:"id"`
	Name      string    `json:"name"`
	Project   *Ref      `json:"project"` // nil: it belongs to the site
	Slots     int       `json:"slots"`
	Held      bool      `json:"held"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// PoolLine is a pool with the holders of its slots and its waiting claims.
type PoolLine struct {
	Pool
	Taken   []PoolSlot  `json:"taken"`
	Waiting []PoolClaim `json:"waiting"` // the first claims
	All     bool        `json:"all"`     // false: more claims wait
}

// PoolSlot is a slot that a task holds.
type PoolSlot struct {
	AttemptID ID        `json:"attemptId"`
	TaskID    ID        `json:"taskId"`
	Slot      int       `json:"slot"`
	Since     time.Time `json:"since"`
}

// PoolClaim is a task that waits for slots.
type PoolClaim struct {
	AttemptID ID        `json:"attemptId"`
	TaskID    ID        `json:"taskId"`
	Slots     int       `json:"slots"`
	Priority  int       `json:"priority"`
	Since     time.Time `json:"since"`
}

// Pools lists all pools of the site and of its projects.
func (c *Client) Pools(ctx context.Context) (all []Pool, err error) {
	last := ""
	for {
		var list struct{ Pools []Pool }
		if err := c.get(ctx, "/api/pools", query("last_id", last), &list); err != nil || len(list.Pools) == 0 {
			return all, err
		}
		all = append(all, list.Pools...)
		last = string(all[len(all)-1].ID)
	}
}

// Pool returns a project's pool, or the site's if project is "".
func (c *Client) Pool(ctx context.Context, project, name string) (p PoolLine, err error) {
	err = c.get(ctx, path("api", "pools", name), query("project", project), &p)
	return p, err
}

// SetPool creates a pool, or changes its number of slots.
func (c *Client) SetPool(ctx context.Context, project, name string, slots int) (p Pool, err error) {
	body := struct {
		Slots int `json:"slots"`
	}{slots}
	err = c.send(ctx, http.MethodPut, path("api", "pools", name), query("project", project), body, &p)
	return p, err
}

// HoldPool stops a pool from granting slots, or lets it grant them again.
func (c *Client) HoldPool(ctx context.Context, project, name string, held bool) (p Pool, err error) {
	action := "release"
	if held {
		action = "hold"
	}
	err = c.send(ctx, http.MethodPost, path("api", "pools", name, action), query("project", project), struct{}{}, &p)
	return p, err
}

// DeletePool removes a pool that no task uses.
func (c *Client) DeletePool(ctx context.Context, project, name string) (p Pool, err error) {
	err = c.send(ctx, http.MethodDelete, path("api", "pools", name), query("project", project), nil, &p)
	return p, err
}
