package wire

// Secret is the name of a secret, never its value.
type Secret struct {
	Key     string `json:"key"`
	Project IDName `json:"project"`
}

// SecretKey is a secret in a project's list.
type SecretKey struct {
	Key    string `json:"key"`
	Source string `json:"source,omitempty"` // "site" if it is a site secret; absent, as in Digdag, if it is the project's
}

// SiteSecret is a secret of a site.
type SiteSecret struct {
	Key string `json:"key"`
	// Projects lists the only projects that may use it; null means all projects.
	Projects []string `json:"projects"`
}

// SiteSecretBody sets a site secret.
type SiteSecretBody struct {
	Value    *Words   `json:"value"`
	Projects []string `json:"projects"`
}

// SecretBody sets a secret.
type SecretBody struct {
	Value *Words `json:"value"`
}
