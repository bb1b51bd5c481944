package wire

// Caller is the caller of a request.
type Caller struct {
	Name *string `json:"name"`
	By   string  `json:"by"`
	Role string  `json:"role"`
	Site int64   `json:"site"`
}
