package wire

// Site is one of the sites that share the server, with its counts.
type Site struct {
	ID       ID   `json:"id"`
	Projects int  `json:"projects"`
	Attempts int  `json:"attempts"` // that have not ended; mostCounted are so many or more
	Tokens   *int `json:"tokens"`   // null if the server has none
}

// Sites are the sites of a server.
type Sites struct {
	Sites []Site `json:"sites"`
	Next  *ID    `json:"next"` // after of the next page; null: this is the last one
}
