package localrun

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"zerodag/engine"
	"zerodag/engine/dig"
	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
	"zerodag/internal/configuration"
	"zerodag/internal/evaluators"
	"zerodag/internal/executors"
	"zerodag/internal/files"
	"zerodag/internal/host"
	"zerodag/internal/httpclient"
	"zerodag/internal/lineage"
	"zerodag/internal/local"
	"zerodag/internal/localsecret"
	"zerodag/internal/program"
	"zerodag/internal/scratch"
	"zerodag/internal/taskview"
	"zerodag/internal/term"
	"zerodag/operators"
	"zerodag/operators/all"
	oprun "zerodag/operators/run"
)

// localProjectName is the project name that the tasks of a run on this machine see.
const localProjectName = "default"

func (r *run) attempt(ctx context.Context) (*engine.State, error) {
	limit, err := r.Settings.Integer("io.digdag.limits.maxWorkflowTasks", 0)
	if err != nil {
		return nil, err
	}
	if limit, err = r.Settings.Integer("executor.task_max_run", limit); err != nil {
		return nil, err
	}
	config, err := r.Settings.Below("config.")
	if err != nil {
		return nil, err
	}
	notifier, err := newNotifier(r.Settings)
	if err != nil {
		return nil, err
	}
	reading := r.Settings.Reading()
	stored := reading.Stored()
	where := configuration.OwnFolder(reading.Commands())
	if where.Environment == lineage.NotOwn {
		where.Environment = lineage.Everything // the environment belongs to the user who entered the command
	}
	commands, err := executors.New(where)
	if err = cmp.Or(reading.Err, err); err != nil {
		return nil, err
	}
	defer scratch.Leave(r.Folder.TempFolder())
	defer cutWhenToldAgain(ctx, commands)()
	pool := evaluators.New("")
	defer pool.Close()
	view := newView(ctx, r)
	r.began = time.Now()
	params := files.NewParamStore(r.Folder.ParamFolder(), time.Now)
	runs := local.New(local.Options{
		Runtime: host.Runtime{
			Registry:  all.Registry(),
			Evaluator: pool,
			Store:     func(int64) operators.ParamStore { return params },
			HTTP:      &httpclient.Clients{},
			Config:    config,
			Stored:    stored,
			Workspace: r.workspace(commands.In),
		},
		Notifier:  notifier,
		Variables: r.Variables,
		Project:   local.Project{ID: 1, Name: localProjectName, Revision: time.Now().UTC().Format(time.RFC3339)},
		Workflows: r.Workflows,
		Secrets:   localsecret.Store(r.Settings),
		Log:       view.Log,
		Limit:     limit,
		Threads:   r.Threads,
		Defaults:  r.Work.Params,
		Now:       time.Now,
		Before:    r.before,
		Changed:   r.changed(view),
	})
	if r.Original() {
		r.log.Message(operators.Info, "io.digdag.core.workflow.WorkflowExecutor", fmt.Sprintf(
			"Starting a new session project id=1 workflow name=%s session_time=%s", r.Workflow.Name, operators.FormatTime(r.sessionAt)))
	}
	a, err := runs.Run(ctx, local.Request{Workflow: r.Workflow.Name, SessionTime: r.sessionAt, Params: r.Work.Params,
		Only: r.only})
	view.Close()
	if err != nil {
		return nil, err
	}
	return a.State, nil
}

// only returns the part of a workflow that will run. If a part is skipped, the outputs cannot be determined.
func (r *run) only(nodes []dig.Node) ([]dig.Node, error) {
	nodes, err := subtree(nodes, r.Task)
	if err == nil && (r.DryRun || r.Goal != "" || r.End != "") {
		nodes = slices.Clone(nodes)
		nodes[0].Config = nodes[0].Config.Without(keys.OutputsKey)
	}
	return nodes, err
}

// cutWhenToldAgain kills all commands if the program is asked to end a second time before over is called.
func cutWhenToldAgain(ctx context.Context, commands *executors.Executors) (over func()) {
	return program.WhenToldAgain(ctx, func() (leave bool) {
		within, stop := context.WithTimeout(context.WithoutCancel(ctx), cutTime)
		defer stop()
		commands.Cut(within)
		return true
	})
}

// cutTime is how long a run that exits at once waits for the commands that it has killed: a process that hangs in the
// kernel may never end.
const cutTime = 10 * time.Second

// workspace returns the project's own folder for each run: in local runs, tasks share their files.
func (r *run) workspace(in executors.In) func(context.Context, operators.Identity, host.Workflow) (host.Workspace, error) {
	return func(_ context.Context, id operators.Identity, _ host.Workflow) (host.Workspace, error) {
		return host.Workspace{Files: r.Folder.Project, RunFolder: r.Folder.RunFolder(), Commands: in(r.Folder.Root(), id), Leave: func() {}}, nil
	}
}

// before returns saved results for tasks that must not run again, and implements --dry-run and --show-params.
func (r *run) before(j *oprun.Job) *operators.Result {
	if result := r.plan.instead(j.TaskName); result != nil {
		text := taskview.Skipped
		if r.plan.leaves(j.TaskName) && !r.Original() {
			text = "skipped by --goal or --end"
		}
		j.Log.Line(operators.Warn, "Run$OperatorManagerWithSkip", text)
		return result
	}
	if r.DryRun || r.ShowParams {
		j.Before = func(evaluated *param.Map) bool {
			if r.ShowParams {
				j.Log.Line(operators.Warn, "Run$OperatorManagerWithSkip", "\n"+term.Indented(string(dig.FormatYAML(evaluated)), "  "))
			}
			return !r.DryRun
		}
	}
	return nil
}

// changed saves tasks as they end and shows the current state.
func (r *run) changed(v view) func(*engine.State, []engine.Change) {
	return func(s *engine.State, changes []engine.Change) {
		for _, c := range changes {
			if t, ok := c.(engine.TaskChanged); ok && t.Progress.State == engine.Success {
				r.plan.save(s, s.Task(t.Task))
				r.output.Forget(s.Task(t.Task).Name)
			}
		}
		v.Changed(s, changes)
	}
}
