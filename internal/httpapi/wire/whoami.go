package wire

// Caller is a request's caller.
type Caller struct {
	Name *string `json:"name"`
	By   string  `json:"by"`
	Role string  `json:"role"`
	Site int64   `json:"site"`
	// ExpiresAt is when the caller's token ends; null for never.
	ExpiresAt Moment   `json:"expiresAt"`
	Projects  []string `json:"projects"` // the only projects that the caller may use; null means all projects
}
