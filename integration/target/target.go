// Package target says which server the black-box tests of integration run against: one that
// they start themselves, or the stack that ZERODAG_SERVER names, deployed to LocalStack or
// to an account (`make test-aws`, `make integration-aws`).
//
// It must never start a server, and never hide that a test did not run.
package target

import (
	"cmp"
	"net/url"
	"os"
	"strings"
	"testing"
)

// Stack is a deployed stack.
type Stack struct {
	URL   string // of its REST API
	Token string // of an administrator of site 0
	Stage string // the stage that it was deployed as
	// Commands says that it runs sh>, py> and rb>.
	Commands bool
}

// Deployed returns the stack that the environment names; false when a test starts a server of
// its own. A test that only such a server can pass is skipped, with the reason.
func Deployed(t testing.TB) (Stack, bool) {
	t.Helper()
	s, ok := Named()
	if !ok {
		return Stack{Commands: true}, false
	}
	if why := embeddedOnly[t.Name()]; why != "" {
		t.Skipf("NOT RUN on a deployed stack: %s", why)
	}
	return s, true
}

// Named returns the stack that the environment names, as deploy.sh prints it; false when it
// names none.
func Named() (Stack, bool) {
	s := Stack{os.Getenv("ZERODAG_SERVER"), os.Getenv("ZERODAG_TOKEN"), cmp.Or(os.Getenv("ZERODAG_STAGE"), "e2e"), os.Getenv("ZERODAG_NO_COMMANDS") == ""}
	return s, s.URL != ""
}

// Far says that what the stack runs on cannot reach servers of this machine: it is on a real
// account.
func (s Stack) Far() bool {
	u, err := url.Parse(s.URL)
	return err == nil && u.Hostname() != "" && u.Hostname() != "127.0.0.1"
}

// MustBeDeployed is Deployed for tests that nothing but a deployed stack can pass: they are
// skipped without one, and fail where REQUIRE names localstack.
func MustBeDeployed(t testing.TB) Stack {
	t.Helper()
	s, ok := Deployed(t)
	if ok {
		return s
	}
	const remedy = `eval "$(integration/localstack/deploy.sh)" deploys one and names it in ZERODAG_SERVER`
	if strings.Contains(os.Getenv("REQUIRE"), "localstack") {
		t.Fatal("no deployed stack: " + remedy)
	}
	t.Skip("SKIPPED: no deployed stack: " + remedy)
	return s
}
