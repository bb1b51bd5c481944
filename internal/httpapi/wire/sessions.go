package wire

// Searched are the sessions that a search found, with the place at which it continues.
type Searched struct {
	Sessions []Session `json:"sessions"`
	Searched int       `json:"searched"` // how many were looked at
	Complete bool      `json:"complete"` // false: so many were looked at that there may be more for this page
	Next     *ID       `json:"next"`     // what last_id= is for the next page; null on the last
}
