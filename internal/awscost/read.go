package awscost

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"zerodag/engine/param"
	stages "zerodag/infra/settings"
	"zerodag/internal/client"
	"zerodag/internal/cost"
	"zerodag/internal/sandbox"
	"zerodag/operators"
	"zerodag/operators/all"
)

// attemptsPage is how many attempts a request lists: the API's maximum.
const attemptsPage = 100

// readers is the number of attempts whose tasks are read concurrently.
const readers = 8

// attribute estimates what the month's attempts cost, by workflow.
func (q Question) attribute(ctx context.Context, out *Report) error {
	type workflow struct{ project, name client.ID }
	attempts := map[workflow][]client.Attempt{}
	names := map[workflow]client.Attempt{} // the newest attempt of each workflow
	for last := client.ID(""); ; {
		page, err := q.API.AllAttempts(ctx, "", client.Page{Last: last, Count: attemptsPage})
		if err != nil {
			return err
		}
		out.Requests.Lists++
		older := 0
		for _, a := range page {
			w := workflow{a.Project.ID, client.ID(a.Workflow.Name)}
			switch {
			case a.CreatedAt.Before(q.Month.From):
				older++
			case a.CreatedAt.Before(q.Month.To):
				if _, known := names[w]; !known {
					names[w] = a
				}
				a.Params, a.Outputs, a.Labels = nil, nil, nil // saves memory: a month has many attempts
				attempts[w] = append(attempts[w], a)
			}
		}
		if len(page) < attemptsPage || older == len(page) {
			break
		}
		last = page[len(page)-1].ID
	}
	out.Workflows = []cost.Row{}
	for w, list := range attempts {
		chosen := cost.Sample(list, q.Sample)
		read, err := q.readTasks(ctx, chosen)
		if err != nil {
			return err
		}
		out.Requests.Tasks += len(chosen)
		out.Requests.Unread += len(chosen) - len(read)
		a := names[w]
		out.Workflows = append(out.Workflows, cost.RowOf(string(w.project), a.Project.Name, a.Workflow.Name, len(list), read))
	}
	slices.SortFunc(out.Workflows, func(a, b cost.Row) int {
		switch {
		case a.Dollars > b.Dollars:
			return -1
		case a.Dollars < b.Dollars:
			return 1
		}
		return strings.Compare(a.Project+"\x00"+a.Workflow, b.Project+"\x00"+b.Workflow)
	})
	return nil
}

// readTasks reads the tasks of attempts and returns each attempt's cost. An attempt that has been removed in the
// meantime, or that has too many tasks for one response, is skipped.
func (q Question) readTasks(ctx context.Context, list []client.Attempt) ([]cost.Amount, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		mu     sync.Mutex
		failed error
		read   = make([]cost.Amount, len(list))
		done   = make([]bool, len(list))
		wait   sync.WaitGroup
		next   = make(chan int)
	)
	reading := newReading(q.Settings)
	for range min(readers, len(list)) {
		wait.Go(func() {
			for i := range next {
				tasks, err := q.API.Tasks(ctx, list[i].ID)
				mu.Lock()
				switch {
				case client.IsMissing(err), tooLarge(err):
				case err != nil:
					if failed == nil {
						failed = fmt.Errorf("read the tasks of attempt %s: %w", list[i].ID, err)
					}
					cancel()
				default:
					read[i], done[i] = reading.stage.Of(reading.attempt(list[i], tasks)), true
				}
				mu.Unlock()
			}
		})
	}
	for i := range list {
		next <- i
	}
	close(next)
	wait.Wait()
	if failed != nil {
		return nil, failed
	}
	var amounts []cost.Amount
	for i, ok := range done {
		if ok {
			amounts = append(amounts, read[i])
		}
	}
	return amounts, nil
}

// tooLarge reports whether an attempt's tasks do not fit into a function's response.
func tooLarge(err error) bool {
	var answer *client.StatusError
	return errors.As(err, &answer) && answer.Status == http.StatusRequestEntityTooLarge
}

// reading converts tasks from the API to the form that estimates use.
type reading struct {
	stage    cost.Stage
	machine  sandbox.Class // for commands that request nothing
	lambda   bool          // the stage has the function for commands
	machines bool
	registry operators.Registry
}

func newReading(s stages.Settings) *reading {
	return &reading{
		stage: cost.Stage{ARMMachines: s.CommandArchitecture == "arm64", ARMFunctions: s.Architecture == "arm64", FunctionMemory: s.CommandFunctionMemory,
			PublicAddress: !s.Placed() || s.PublicIP},
		machine:  sandbox.Class{Image: s.Image, CPU: s.CommandCPU, Memory: s.CommandMemory, Spot: s.Spot},
		lambda:   s.CommandFunction,
		machines: s.HasMachines(),
		registry: all.Registry(),
	}
}

// attempt reads an attempt. Tasks that were taken over from an earlier attempt ran there and do not count.
func (c *reading) attempt(a client.Attempt, tasks []client.Task) cost.Attempt {
	out := cost.Attempt{}
	if a.FinishedAt != nil {
		out.Finished = *a.FinishedAt
	}
	byID := make(map[client.ID]*client.Task, len(tasks))
	for i := range tasks {
		byID[tasks[i].ID] = &tasks[i]
	}
	for _, t := range tasks {
		if t.StartedAt == nil || t.Skipped != "" || t.StartedAt.Before(a.CreatedAt) {
			continue
		}
		to := t.UpdatedAt
		if to.Before(*t.StartedAt) {
			to = *t.StartedAt
		}
		x := cost.Task{From: *t.StartedAt, To: to}
		x.Kind, x.Machine = c.kind(t, byID)
		out.Tasks = append(out.Tasks, x)
	}
	return out
}

// runsCommands reports whether a built-in operator runs its task as a command.
func runsCommands(name string) bool {
	return slices.Contains([]string{"sh", "py", "rb", "embulk"}, name)
}

// kind returns how a task is run, and the machine of a command.
func (c *reading) kind(t client.Task, byID map[client.ID]*client.Task) (cost.Kind, sandbox.Class) {
	name := operatorName(t.Config)
	known, ours := c.registry[name]
	switch {
	case name == "":
		return cost.None, sandbox.Class{}
	case ours && known.Inline, !ours && t.IsGroup: // an operator that the project defines as a workflow
		return cost.Inline, sandbox.Class{}
	case ours && !runsCommands(name):
		return cost.Agent, sandbox.Class{}
	}
	wanted := c.sandbox(t, byID)
	switch {
	case wanted.Executor == operators.OnLambda && c.lambda:
		return cost.Function, sandbox.Class{}
	case !c.machines:
		return cost.Agent, sandbox.Class{}
	}
	class, err := c.machine.For(wanted)
	if err != nil { // such a command never had a machine
		return cost.Agent, sandbox.Class{}
	}
	if wanted.Fresh {
		class.Alone = string(t.ID)
	}
	return cost.Command, class
}

// operatorName returns the operator in a task's configuration, "" for a group.
func operatorName(config *param.Map) string {
	if config == nil {
		return ""
	}
	for _, k := range config.Keys() {
		if name, is := strings.CutSuffix(k, ">"); is {
			return name
		}
	}
	kind, _ := config.Get("_type")
	name, _ := kind.(string)
	return name
}

// sandbox returns what a task requests of its machine, through its own settings, its exports, or the exports of the
// groups around it. Unreadable settings, such as an expression, count as requesting nothing.
func (c *reading) sandbox(t client.Task, byID map[client.ID]*client.Task) operators.Sandbox {
	wanted := param.New()
	for _, key := range []string{"docker", "sandbox"} {
		for at := &t; at != nil; {
			if tree := mapOf(at.Config, key); tree != nil {
				wanted.Set(key, tree)
				break
			}
			if tree := mapOf(at.ExportParams, key); tree != nil {
				wanted.Set(key, tree)
				break
			}
			if at.ParentID == nil {
				break
			}
			at = byID[*at.ParentID]
		}
	}
	s, err := operators.ReadSandbox(operators.NewParams(wanted))
	if err != nil {
		return operators.Sandbox{}
	}
	return s
}

// mapOf returns the mapping at a key of a tree, nil if there is none.
func mapOf(tree *param.Map, key string) *param.Map {
	if tree == nil {
		return nil
	}
	return tree.Map(key)
}
