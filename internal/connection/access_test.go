package connection

import (
	"testing"

	"zerodag/internal/configuration"
)

// TestFindAccess checks which sources decide how requests authenticate, and in which order.
func TestFindAccess(t *testing.T) {
	t.Parallel()
	both := map[string]string{"ZERODAG_IAM": "1", "ZERODAG_TOKEN": "t"}
	for _, c := range []struct {
		name string
		r    Choice
		env  map[string]string
		want string
	}{
		{"nothing", Choice{}, nil, "without a token"},
		{"token", Choice{Token: "x"}, both, "with the token of --token"},
		{"password", Choice{BasicAuth: "a:b"}, both, "with --basic-auth"},
		{"IAM over the environment", Choice{IAM: true}, map[string]string{"ZERODAG_TOKEN": "t"}, "with a signature by AWS credentials (--iam)"},
		{"IAM over a token in the environment", Choice{}, both, "with a signature by AWS credentials (ZERODAG_IAM)"},
		{"the environment over the configuration", Choice{Settings: configuration.Settings{"client.http.iam": "true"}}, map[string]string{"ZERODAG_TOKEN": "t"}, "with the token of ZERODAG_TOKEN"},
		{"configuration", Choice{Settings: configuration.Settings{"client.http.iam": "true"}}, map[string]string{"ZERODAG_IAM": "0"}, "with a signature by AWS credentials (client.http.iam)"},
		{"two ways", Choice{IAM: true, Token: "x"}, nil, "--iam cannot be used together with --token or --basic-auth"},
		{"no switch", Choice{}, map[string]string{"ZERODAG_IAM": "yes"}, `environment variable ZERODAG_IAM must be true or false but is "yes"`},
	} {
		way, err := c.r.access(func(name string) string { return c.env[name] }, nil)
		got := way.String()
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
