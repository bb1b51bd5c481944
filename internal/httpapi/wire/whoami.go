package wire

// Caller is who calls.
type Caller struct {
	Name *string `json:"name"`
	By   string  `json:"by"`
	Role string  `json:"role"`
	Site int64   `json:"site"`
}
