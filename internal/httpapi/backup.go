package httpapi

import (
	"net/http"
)

// getBackup answers with all data of the server. It holds every site, so only an admin of
// the first one, which every server has, may take it.
func getBackup(c *call) (any, error) {
	if c.Backup == nil {
		return nil, missing("backup: the store of this server makes its own")
	}
	if c.actor.Site != 0 {
		return nil, &refusal{http.StatusForbidden, "Only administrators of site 0 may do this: a backup holds all sites"}
	}
	c.w.Header().Set("Content-Type", gzipType)
	if err := c.Backup(c.ctx(), c.w); err != nil {
		c.Logger.Error("backup", "error", err)
		panic(http.ErrAbortHandler) // the client must see that what it has is not whole
	}
	return written{}, nil
}
