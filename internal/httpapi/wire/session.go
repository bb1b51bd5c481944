package wire

// SignIn contains the data that a page needs first: how to sign in, who is signed in, and what they may do.
type SignIn struct {
	Authenticated bool     `json:"authenticated"`
	Methods       []string `json:"methods"`
	OIDC          *OIDC    `json:"oidc"`
	User          *string  `json:"user"`
	Role          *string  `json:"role"`
	Rights        Rights   `json:"rights"`
	Timezone      string   `json:"timezone"`
	Site          *string  `json:"site"`
	Live          string   `json:"live"`
	AWS           bool     `json:"aws"`
	Version       string   `json:"version"`
	// Problem is why the sign-in failed at the provider that sent this browser back. It is shown once.
	Problem *string `json:"problem"`
}

// OIDC describes the button for users who sign in at a provider.
type OIDC struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// Rights lists what the caller may do, in the order of the roles.
type Rights struct {
	Read  bool `json:"read"`
	Write bool `json:"write"`
	Push  bool `json:"push"`
	Admin bool `json:"admin"`
	Owner bool `json:"owner"`
}

// SignInBody signs a user in.
type SignInBody struct {
	Token    string `json:"token"`
	User     string `json:"user"`
	Password string `json:"password"`
}
