package server

import (
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

// rekeyed is the response to rekey; unreadable has at most mostUnreadable names.
type rekeyed struct {
	Secrets         int              `json:"secrets"`
	Changed         int              `json:"changed"`
	UnreadableCount int              `json:"unreadableCount"`
	Unreadable      []unreadableName `json:"unreadable"`
}

type unreadableName struct {
	Site      wire.ID `json:"site"`
	ProjectID wire.ID `json:"projectId"`
	Key       string  `json:"key"`
}

// mostUnreadable limits the names in a response: more unreadable secrets mean that a key is missing.
const mostUnreadable = 100

// rekey encrypts the secrets of all sites with the current key.
func rekey(c *endpoint.Call) (any, error) {
	if c.Rekey == nil {
		return nil, wire.Missing("rekey: the store of this deployment manages the keys of its secrets itself")
	}
	done, err := c.Rekey(c.Ctx())
	if err != nil {
		return nil, err
	}
	out := rekeyed{done.Secrets, done.Changed, len(done.Unreadable), []unreadableName{}}
	for _, s := range done.Unreadable[:min(len(done.Unreadable), mostUnreadable)] {
		out.Unreadable = append(out.Unreadable, unreadableName{wire.ID(s.Site), wire.ID(s.Project), s.Key})
	}
	return out, nil
}
