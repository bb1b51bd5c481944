package wire

// Searched holds the sessions that a search found, and the position from which it continues.
type Searched struct {
	Sessions []Session `json:"sessions"`
	Searched int       `json:"searched"` // number of sessions that were read
	Complete bool      `json:"complete"` // false: a limit was reached, and there may be more for this page
	Next     *ID       `json:"next"`     // the value of last_id= for the next page; null on the last
}
