package all_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"zerodag/engine/dig"
	"zerodag/engine/expr"
	"zerodag/engine/param"
	"zerodag/internal/evaluators/evaluator"
	"zerodag/operators"
	"zerodag/operators/all"
	"zerodag/operators/operatortest"
	"zerodag/operators/run"
)

// away implements every port of a task while the stores of the deployment are unavailable: it records each call and
// fails it.
type away struct {
	root  string
	calls []string
}

func (a *away) call(what string) error {
	a.calls = append(a.calls, what)
	return fmt.Errorf("%s: %w", what, operators.ErrUnavailable)
}

func (a *away) Root() string                                 { return a.root }
func (a *away) Read(string) ([]byte, error)                  { return nil, a.call("read a file") }
func (a *away) Write(string, []byte) error                   { return a.call("write a file") }
func (a *away) Load(string) (*param.Map, error)              { return nil, a.call("load a file") }
func (a *away) Secret(string) (string, bool, error)          { return "", false, a.call("read a secret") }
func (a *away) Set(context.Context, map[string]string) error { return a.call("set a parameter") }
func (a *away) Get(context.Context, string) (string, bool, error) {
	return "", false, a.call("get a parameter")
}

func (a *away) Run(context.Context, operators.Command) (operators.Exit, error) {
	return operators.Exit{}, a.call("run a command")
}
func (a *away) Stop(context.Context, *param.Map) error { return a.call("stop a command") }

func (a *away) StartAttempt(context.Context, operators.StartRequest) (operators.StartedAttempt, error) {
	return operators.StartedAttempt{}, a.call("start an attempt")
}

func (a *away) NotifySlow(context.Context, string, *operators.Task) error { return a.call("notify") }

func (a *away) Notify(context.Context, string, *operators.Task) error { return a.call("notify") }

// aloneTasks returns the operators that need nothing from the deployment, or only a file.
func aloneTasks() []string {
	return []string{"echo", "fail", "for_each", "for_range", "if", "loop", "switch", "wait"}
}

// tasks returns tasks that get as far as the first port that the operator needs, for operators whose page has no such
// example.
func tasks() map[string]string {
	return map[string]string{
		"http":             `{"_command": "http://127.0.0.1:1/${secret:a}"}`,
		"notify":           `{"_command": "x"}`,
		"param_set":        `{"k": "v"}`,
		"sns":              `{"_command": "arn:aws:sns:us-east-1:0:t", "message": "m"}`,
		"sqs":              `{"_command": "q", "message": "m"}`,
		"td_result_export": `{"job_id": 1, "result_connection": "c", "result_settings": {}}`,
		"td_table_export":  `{"table": "t", "file_format": "tsv.gz", "from": 0, "to": 1, "s3_bucket": "b", "s3_path_prefix": "p", "database": "d"}`,
	}
}

// exampleTask returns the first task of an operator in the example of its page.
func exampleTask(t *testing.T, name string) string {
	t.Helper()
	page, _ := operators.Page(name)
	_, example, _ := strings.Cut(page, "\n## Example\n")
	example, _, _ = strings.Cut(example, "\n## ")
	for _, block := range strings.Split(example, "```") {
		if text, isYAML := strings.CutPrefix(block, "yaml\n"); isYAML {
			tree, err := dig.ParseYAML("example.dig", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if own := ownKeys(tree, name+">"); own != nil {
				return param.Text(own)
			}
		}
	}
	t.Fatalf("the example of the page of %s> has no such task: add one, or a row to tasks", name)
	return ""
}

// ownKeys returns the keys of the first mapping in a tree that has an operator, with the command under its name in a
// task; nil for none.
func ownKeys(tree param.Value, operator string) *param.Map {
	node, isMap := tree.(*param.Map)
	if !isMap {
		return nil
	}
	own := param.New()
	for key, value := range node.All() {
		switch {
		case key == operator && value != nil:
			own.Set("_command", value)
		case key != operator:
			own.Set(key, value)
		}
	}
	if node.Has(operator) {
		return own
	}
	for _, value := range node.All() {
		if below := ownKeys(value, operator); below != nil {
			return below
		}
	}
	return nil
}

// TestStoresThatAreAway checks for every operator that an unavailable store of the deployment neither fails a task nor
// uses up a try of its `_retry`: the run is repeated later, with its state. A kill that arrives in the meantime also
// waits.
func TestStoresThatAreAway(t *testing.T) {
	t.Parallel()
	registry, evaluate := all.Registry(), evaluator.InProcess(nil)
	for _, name := range registry.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, known := tasks()[name]
			if !known {
				text = exampleTask(t, name)
			}
			ports := &away{root: t.TempDir()}
			w := operatortest.New(t, text)
			own := param.New(name+">", nil)
			for k, v := range w.Local.All() {
				if k == "_command" {
					k = name + ">"
				}
				own.Set(k, v)
			}
			own.Set("_retry", int64(3))
			w.Files, w.Commands, w.Store, w.Workflows, w.Notifier = ports, ports, ports, ports, ports
			w.State, w.Identity.RetryCount = param.New("mine", int64(1)), 7
			j := &run.Job{Task: w.Task, Own: own, Vars: param.New(), Scope: expr.Scope{Zone: time.UTC, Now: operatortest.Now}, Vault: ports}
			out := run.Run(t.Context(), registry, evaluate, j)
			if alone := slices.Contains(aloneTasks(), name); alone != (len(ports.calls) == 0) {
				t.Fatalf("it asked the deployment for %v\nlog:\n%s", ports.calls, w.Output)
			}
			if len(ports.calls) == 0 {
				return
			}
			if out.Later == nil || !errors.Is(out.Later.Err, operators.ErrUnavailable) || out.Later.After < time.Second || !resumes(out.Later.State, `{"mine":1}`) {
				t.Errorf("after %v the run ended with %+v\nlog:\n%s", ports.calls, out, w.Output)
			}
		})
	}
}

// resumes reports whether the next run of a postponed seventh run is still the seventh, with the state that the
// operator had, even if the state was stored in the meantime.
func resumes(state *param.Map, want string) bool {
	stored, err := param.ParseJSON(param.Text(state))
	if err != nil {
		return false
	}
	own, run, away := run.Resume(stored.(*param.Map), 8)
	return param.Text(own) == want && run == 7 && away == 1
}

// TestWaitsForStores checks that the time between two runs that find a store unavailable grows and is limited.
func TestWaitsForStores(t *testing.T) {
	t.Parallel()
	for count, most := range map[int]time.Duration{0: 2 * time.Second, 1: 4 * time.Second, 4: 32 * time.Second, 5: time.Minute, 1000: time.Minute} {
		j := run.Job{Away: count}
		later := j.Postponed(fmt.Errorf("away: %w", operators.ErrUnavailable))
		if later == nil || later.After < most/2 || later.After > most {
			t.Errorf("after %d it comes after %+v, want between %v and %v", count, later, most/2, most)
		}
	}
	if later := (&run.Job{}).Postponed(errors.New("its own fault")); later != nil {
		t.Errorf("another error waits: %v", later)
	}
}
