package zerodag_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zerodag"
)

// A project is a folder with .dig files; usually it is next to the program.
func project(files map[string]string) string {
	folder, err := os.MkdirTemp("", "project-")
	if err != nil {
		panic(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			panic(err)
		}
	}
	return folder
}

func Example() {
	ctx := context.Background()
	folder := project(map[string]string{"daily.dig": "+hello:\n  sh>: echo ${who} > " + os.DevNull + "\n+check:\n  if>: ${who == 'world'}\n  _do:\n    echo>: fine\n"})
	defer os.RemoveAll(folder)

	e, err := zerodag.Open("", zerodag.Options{}) // "" keeps the data in memory
	if err != nil {
		panic(err)
	}
	defer e.Close(ctx)
	if err := e.Push(ctx, folder, "reports", "rev-1"); err != nil {
		panic(err)
	}
	session := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	id, err := e.Start(ctx, zerodag.Start{Project: "reports", Workflow: "daily", Session: session, Params: map[string]any{"who": "world"}})
	if err != nil {
		panic(err)
	}
	fmt.Println("result:", e.Wait(ctx, id))
	_, err = e.Start(ctx, zerodag.Start{Project: "reports", Workflow: "daily", Session: session})
	fmt.Println("again:", errors.Is(err, zerodag.ErrExists))
	// Output:
	// result: <nil>
	// again: true
}

func ExampleEngine_Wait_failure() {
	ctx := context.Background()
	folder := project(map[string]string{"broken.dig": "+work:\n  fail>: no data today\n"})
	defer os.RemoveAll(folder)
	e, err := zerodag.Open("", zerodag.Options{})
	if err != nil {
		panic(err)
	}
	defer e.Close(ctx)
	if err := e.Push(ctx, folder, "reports", "rev-1"); err != nil {
		panic(err)
	}
	id, err := e.Start(ctx, zerodag.Start{Project: "reports", Workflow: "broken"})
	if err != nil {
		panic(err)
	}
	var failure *zerodag.Failure
	if err := e.Wait(ctx, id); errors.As(err, &failure) {
		fmt.Println(failure.Tasks)
	}
	// Output: map[+broken+work:no data today]
}

// TestStartNamesAll checks that a start without a project or a workflow returns an error, and does not start a workflow
// that happens to exist.
func TestStartNamesAll(t *testing.T) {
	t.Parallel()
	folder := project(map[string]string{"daily.dig": "+hello:\n  echo>: x\n"})
	defer os.RemoveAll(folder)
	e, err := zerodag.Open("", zerodag.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(t.Context())
	if err := e.Push(t.Context(), folder, "reports", "rev-1"); err != nil {
		t.Fatal(err)
	}
	for _, s := range []zerodag.Start{{Workflow: "daily"}, {Project: "reports"}, {Project: "other", Workflow: "daily"}, {Project: "reports", Workflow: "other"}} {
		if id, err := e.Start(t.Context(), s); err == nil {
			t.Errorf("%+v started attempt %d", s, id)
		}
	}
}

func ExampleEngine_Push_wrong() {
	ctx := context.Background()
	folder := project(map[string]string{"wrong.dig": "+work:\n  sh>: a\n  py>: b\n"})
	defer os.RemoveAll(folder)
	e, err := zerodag.Open("", zerodag.Options{})
	if err != nil {
		panic(err)
	}
	defer e.Close(ctx)
	fmt.Println(e.Push(ctx, folder, "reports", "rev-1") != nil)
	// Output: true
}

// TestWhatIsNotThere checks that a program can distinguish a missing object from other errors, as a client of the API
// does by the status 404.
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
