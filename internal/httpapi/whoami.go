package httpapi

type restCaller struct {
	Name *string `json:"name"`
	By   string  `json:"by"`
	Role string  `json:"role"`
	Site int64   `json:"site"`
}

// getCaller answers with who asks, and how it has shown that.
func getCaller(c *call) (any, error) {
	return restCaller{textOrNull(c.actor.Name), c.actor.By, c.actor.Role.String(), c.actor.Site}, nil
}
