package ssm_test

import (
	"errors"
	"sync"
	"testing"

	"zerodag/integration/localstack"
	"zerodag/internal/host"
	"zerodag/internal/ssm"
)

// TestParameter proves that if many callers create a parameter, only one succeeds, and that all of them read its value.
func TestParameter(t *testing.T) {
	t.Parallel()
	c, name := localstack.Config(t), "/"+localstack.Name()+"/runners"
	if text, err := ssm.NewParameter(c, name, "").Read(t.Context()); !errors.Is(err, host.ErrNotFound) {
		t.Errorf("before: %q, %v", text, err)
	}
	var all sync.WaitGroup
	for _, value := range []string{"one", "two", "three", "four"} {
		all.Go(func() {
			if err := ssm.NewParameter(c, name, "").Make(t.Context(), value); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	first, err := ssm.NewParameter(c, name, "").Read(t.Context())
	if err != nil || first == "" {
		t.Fatal(first, err)
	}
	if err := ssm.NewParameter(c, name, "").Make(t.Context(), "later"); err != nil {
		t.Error(err)
	}
	if again, err := ssm.NewParameter(c, name, "").Read(t.Context()); err != nil || again != first {
		t.Errorf("then: %q instead of %q, %v", again, first, err)
	}
}
