package ssm_test

import (
	"strings"
	"testing"
	"time"

	"zerodag/integration/localstack"
	"zerodag/internal/host"
	"zerodag/internal/host/hosttest"
	"zerodag/internal/host/hosttest/suite"
	"zerodag/internal/ssm"
)

var _ host.Secrets = (*ssm.Secrets)(nil)

func TestContract(t *testing.T) {
	t.Parallel()
	c := localstack.Config(t)
	hosttest.Exercise(t, hosttest.Driver{Absent: hosttest.AllBut("parameters of SSM are secrets", "Secrets"),
		Stores: func(t *testing.T, run func(*testing.T, suite.Stores)) {
			run(t, suite.Stores{Secrets: ssm.New(c, ssm.Options{Prefix: "/" + localstack.Name()}), Now: time.Now})
		}})
}

// TestOnceAMinute proves that concurrent tasks cause only one read per minute and project, and that another process
// then sees a change, and sees a long value in one piece.
func TestOnceAMinute(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), localstack.Config(t)
	counter := localstack.Count(&c)
	now := time.Now()
	o := ssm.Options{Prefix: "/" + localstack.Name(), Now: func() time.Time { return now }}
	reader, writer := ssm.New(c, o), ssm.New(c, o)
	put := func(value string) {
		t.Helper()
		if err := writer.PutSecret(ctx, 1, 2, "k", value); err != nil {
			t.Fatal(err)
		}
	}
	read := func(want string) {
		t.Helper()
		all, err := reader.ProjectSecrets(ctx, 1, 2)
		if err != nil || all["k"] != want {
			t.Errorf("read %d bytes, %v; want %d", len(all["k"]), err, len(want))
		}
	}
	long := make([]rune, 5000)
	for i := range long {
		long[i] = 'ü'
	}
	// asked returns the calls without their numbers, because throttled calls are repeated.
	asked := func() string {
		return strings.Map(func(c rune) rune {
			if c >= '0' && c <= '9' {
				return -1
			}
			return c
		}, counter.Take())
	}
	put(string(long))
	counter.Take()
	read(string(long))
	if got := asked(); got != "GetParametersByPath " {
		t.Errorf("the first task made the calls %s", got)
	}
	for range 4 {
		read(string(long))
	}
	if got := counter.Take(); got != "" {
		t.Errorf("four more tasks made the calls %s", got)
	}
	put("short")
	if got := asked(); got != "DeleteParameters , GetParameter , PutParameter " {
		t.Errorf("a secret that was long before made the calls %s", got)
	}
	read(string(long))
	now = now.Add(time.Minute)
	read("short")
}
