package zerodag_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"zerodag"
)

// TestWhatIsNotThere proves that a program can tell what does not exist from what went wrong, as a
// client of the API does by 404.
func TestWhatIsNotThere(t *testing.T) {
	t.Parallel()
	folder := project(map[string]string{"main.dig": "+a:\n  echo>: a\n"})
	defer os.RemoveAll(folder)
	e, err := zerodag.Open("", zerodag.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(t.Context())
	if err := e.Push(t.Context(), folder, "p", "r"); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ project, workflow, want string }{
		{"p", "nosuch", `project "p" has no workflow "nosuch" in its newest revision`},
		{"p", "", `project "p" has no workflow "" in its newest revision`},
		{"nosuch", "main", `there is no project "nosuch": push it first`},
	} {
		_, err := e.Start(t.Context(), zerodag.Start{Project: x.project, Workflow: x.workflow})
		if !errors.Is(err, zerodag.ErrNotFound) || !strings.HasSuffix(err.Error(), x.want) {
			t.Errorf("start of %q %q: %v, want %q", x.project, x.workflow, err, x.want)
		}
	}
	if err := e.Wait(t.Context(), 4711); !errors.Is(err, zerodag.ErrNotFound) {
		t.Errorf("wait for no attempt: %v", err)
	}
	id, err := e.Start(t.Context(), zerodag.Start{Project: "p", Workflow: "main"})
	if err == nil {
		err = e.Wait(t.Context(), id)
	}
	if err != nil || errors.Is(err, zerodag.ErrNotFound) {
		t.Errorf("what is there: %v", err)
	}
	if _, err := e.Start(t.Context(), zerodag.Start{Project: "p", Workflow: "main", Params: map[string]any{"f": func() {}}}); err == nil || errors.Is(err, zerodag.ErrNotFound) {
		t.Errorf("what went wrong: %v", err)
	}
}
