package engine_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine"
	"zerodag/engine/enginetest"
)

// TestStateMachine compares docs/state-machine.md with the scenarios.
func TestStateMachine(t *testing.T) {
	t.Parallel()
	var trace enginetest.Trace
	files := scenarioFiles(t)
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, seen, err := enginetest.Run(string(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		trace.Add(seen)
	}
	got := document(t, &trace)
	name := filepath.Join("..", "docs", "state-machine.md")
	if *rewrite {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is out of date; `go test ./engine -run TestStateMachine -rewrite` writes it\n%s", name, diff)
	}
}

func document(t *testing.T, trace *enginetest.Trace) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(`# The state machine of an attempt

<!-- go test ./engine -run TestStateMachine -rewrite -->

This page shows the states and transitions that occur in the scenarios of ` + "`engine/testdata`" + `. The rules are Digdag's.

## States of a task

| number | state | meaning | final |
|---|---|---|---|
`)
	for s := engine.Blocked; s <= engine.Canceled; s++ {
		final := ""
		if s.Done() {
			final = "yes"
		}
		fmt.Fprintf(&b, "| %d | %v | %s | %s |\n", s, s, meanings()[s], final)
	}
	b.WriteString("\n## Transitions\n\nEach arrow names the events that were seen to cause it. An arrow to itself is a new run of the same task, a timer\n" +
		"that was taken over, or a final state that waits for `^error` and `^failure-alert`. A task that a resumed\n" +
		"attempt takes over is created in the state `success`.\n\n```mermaid\n")
	b.WriteString(trace.Diagram())
	b.WriteString("```\n\n## What a task waits for\n\nA task waits for these besides other tasks. If it could otherwise run, it is shown as `ready`. The clock of a try\n" +
		"stops during a wait that the task did not ask for; the total of `_timeout` does not.\n\n| reason | it waits for | shown as ready | the clock of a try stops |\n|---|---|---|---|\n")
	for r, doc := range reasons(t) {
		if !trace.Waits(r) {
			t.Errorf("no scenario has a task that waits for %v", r)
		}
		fmt.Fprintf(&b, "| `%v` | %s | %s | %s |\n", r, doc, yes(r.Ready()), yes(r.StopsTry()))
	}
	b.WriteString("\n## Events\n\nA refused event changes nothing. Any event may arrive twice or late.\n\n| event | meaning | refused when |\n|---|---|---|\n")
	for _, e := range events(t) {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", e[0], e[1], strings.Join(trace.Refusals(e[0]), "; "))
	}
	return b.String()
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return ""
}

func meanings() map[engine.TaskState]string {
	return map[engine.TaskState]string{
		engine.Blocked:           "waits for its parent to be planned and for its upstreams to succeed",
		engine.Ready:             "may run; passed through within one step, so never seen",
		engine.RetryWaiting:      "asked to run again later: a retry or a poll",
		engine.GroupRetryWaiting: "waits with its next try: a group for its interval, any task for a place or the end of a pause",
		engine.Running:           "sent to be run, waiting for slots, or having its keys evaluated",
		engine.Planned:           "its own work is done, and it waits for its children",
		engine.GroupError:        "a child failed",
		engine.Success:           "it and its children succeeded",
		engine.Failed:            "its operator failed",
		engine.Canceled:          "a kill ended it",
	}
}

// parsed returns a parsed file of the package.
func parsed(t *testing.T, name string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// events returns the types of event.go that have a guard, with the first sentence of their comments.
func events(t *testing.T) (list [][2]string) {
	t.Helper()
	for _, d := range parsed(t, "event.go").Decls {
		g, isGen := d.(*ast.GenDecl)
		if !isGen || g.Tok != token.TYPE {
			continue
		}
		spec := g.Specs[0].(*ast.TypeSpec)
		s, isStruct := spec.Type.(*ast.StructType)
		if !isStruct || !slices.ContainsFunc(s.Fields.List, func(f *ast.Field) bool { return len(f.Names) == 0 && fmt.Sprint(f.Type) == "By" }) {
			continue
		}
		sentence, _, _ := strings.Cut(strings.Join(strings.Fields(g.Doc.Text()), " "), ". ")
		list = append(list, [2]string{spec.Name.Name, strings.TrimSuffix(sentence, ".")})
	}
	if len(list) < 16 {
		t.Fatalf("only %d events were found in event.go", len(list))
	}
	return list
}

// reasons returns the constants of waiting.go with their comments.
func reasons(t *testing.T) iter.Seq2[engine.Reason, string] {
	t.Helper()
	var comments []string
	ast.Inspect(parsed(t, "waiting.go"), func(n ast.Node) bool {
		if g, isGen := n.(*ast.GenDecl); isGen && g.Tok == token.CONST {
			for _, spec := range g.Specs {
				comments = append(comments, strings.TrimSpace(spec.(*ast.ValueSpec).Comment.Text()))
			}
		}
		return true
	})
	return func(yield func(engine.Reason, string) bool) {
		for r := engine.NoWait + 1; int(r) < len(comments); r++ {
			if !yield(r, comments[r]) {
				return
			}
		}
	}
}
