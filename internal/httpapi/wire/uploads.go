package wire

// SlotBody requests a slot, a place in the store to which an archive is uploaded.
type SlotBody struct {
	Size     *Whole   `json:"size"`
	PartSize *Whole   `json:"partSize"`
	Sums     []string `json:"sha256"`
}

// Part is the link by which a part of an archive is uploaded.
type Part struct {
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	Size    int64             `json:"size"`
}

// Slot is a slot with its links.
type Slot struct {
	ID      string `json:"id"`
	Parts   []Part `json:"parts"`
	Expires Moment `json:"expires"`
}

// CompleteBody reports that all parts are uploaded.
type CompleteBody struct {
	Tags []string `json:"tags"`
}

// Outcome is the progress of an upload. Error is the response that a push in a request would have received.
type Outcome struct {
	Status  string     `json:"status"`
	Project *Project   `json:"project"`
	Error   *ErrorBody `json:"error"`
}
