package wire

import (
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
}

// NewToken is the only answer that contains the secret.
type NewToken struct {
	ShownToken
	Token string `json:"token"`
}

// TokenOf shows a token.
func TokenOf(t host.Token) ShownToken {
	return ShownToken{ID(t.ID), t.Name, t.Site, t.Role, Moment(t.CreatedAt), Moment(t.LastUsed)}
}

// TokenBody requests a token.
type TokenBody struct {
	Name *string `json:"name"`
	Role *string `json:"role"`
	Site *Whole  `json:"site"`
}
