package wire

import (
	"time"

	"zerodag/internal/host"
)

// ShownToken is a token without its secret.
type ShownToken struct {
	ID        ID     `json:"id"`
	Name      string `json:"name"`
	Site      int64  `json:"site"`
	Role      string `json:"role"`
	CreatedAt Moment `json:"createdAt"`
	LastUsed  Moment `json:"lastUsedAt"`
	ExpiresAt Moment `json:"expiresAt"` // null for never
	Expired   bool   `json:"expired"`
	// Projects lists the only projects that the token may use; null means all projects.
	Projects []string `json:"projects"`
}

// NewToken is the only response that contains the secret.
type NewToken struct {
	ShownToken
	Token    string   `json:"token"`
	Warnings []string `json:"warnings"`
}

// TokenOf shows a token as it is at a given time.
func TokenOf(t host.Token, now time.Time) ShownToken {
	return ShownToken{ID(t.ID), t.Name, t.Site, t.Role, Moment(t.CreatedAt), Moment(t.LastUsed), Moment(t.ExpiresAt), t.Expired(now), t.Projects}
}

// TokenBody requests a token.
type TokenBody struct {
	Name *string `json:"name"`
	Role *string `json:"role"`
	Site *Whole  `json:"site"`
	// ExpiresAt is when the token expires; absent or null means never.
	ExpiresAt *Instant `json:"expiresAt"`
	Projects  []string `json:"projects"`
}
