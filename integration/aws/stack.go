// Package aws holds the tests of what only the deployed stack has: signed requests, links into
// S3, uploads, functions that are killed. `make test-aws` deploys one to LocalStack and runs
// them; what every server must do is tested beside it, in integration/rest and others.
//
// It must never know which of both, LocalStack or an account, the stack is deployed to.
package aws

import (
	"testing"

	"zerodag/integration/target"
)

// Deployed returns the stack under test: its URL and the token of an administrator. Without one
// the test is skipped, or fails where REQUIRE names localstack.
func Deployed(t testing.TB) target.Stack {
	t.Helper()
	return target.MustBeDeployed(t)
}
