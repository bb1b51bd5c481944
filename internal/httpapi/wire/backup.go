package wire

// Revived is what one part of a revival came to; LastID is there when there are more.
type Revived struct {
	Attempts    int   `json:"attempts"`
	Messages    int   `json:"messages"`
	LastID      ID    `json:"lastId,omitzero"`
	Together    bool  `json:"together"`
	WaitSeconds int64 `json:"waitSeconds"`
}
