package wire

// Site is one of the sites that share the server, with its counts.
type Site struct {
	ID       ID   `json:"id"`
	Projects int  `json:"projects"`
	Attempts int  `json:"attempts"` // unfinished attempts; mostCounted means that many or more
	Tokens   *int `json:"tokens"`   // null if the server has no tokens
}

// Sites is a page of a server's sites.
type Sites struct {
	Sites []Site `json:"sites"`
	Next  *ID    `json:"next"` // the value of after= for the next page; null on the last
}
