package wire

// Secret is the name of a secret, never its value.
type Secret struct {
	Key     string `json:"key"`
	Project IDName `json:"project"`
}

// SecretBody sets a secret.
type SecretBody struct {
	Value *Words `json:"value"`
}
