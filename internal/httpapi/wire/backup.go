package wire

// Revived is the result of one batch of a revival; LastID is set if there are more.
type Revived struct {
	Attempts    int   `json:"attempts"`
	Messages    int   `json:"messages"`
	LastID      ID    `json:"lastId,omitzero"`
	Together    bool  `json:"together"`
	WaitSeconds int64 `json:"waitSeconds"`
}
