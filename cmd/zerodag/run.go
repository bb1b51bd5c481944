package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zerodag/engine"
	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/internal/catalogue"
	"zerodag/internal/evaluators"
	"zerodag/internal/executors"
	"zerodag/internal/files"
	"zerodag/internal/httpclient"
	"zerodag/internal/lineage"
	"zerodag/internal/local"
	"zerodag/internal/scratch"
	"zerodag/operators"
	"zerodag/operators/all"
)

type runCommand struct {
	commonFlags
	streams
	project    string
	rerun      bool
	start      string
	goal       string
	end        string
	save       string
	noSave     bool
	session    string
	dryRun     bool
	showParams bool
	threads    int
	taskLog    string
	envFiles   []string
	timezone   string
	strict     bool
	accept     bool
	again      func(session time.Time) string // the command line that goes on
}

// newRun runs one workflow in this process.
func newRun(s streams) *cobra.Command {
	c := &runCommand{streams: s}
	cmd := &cobra.Command{
		Use:     "run <workflow.dig> [+task]",
		Aliases: []string{"r"},
		Short:   "Run a workflow on this machine",
		Args:    upTo(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return wrongCount(cmd, s, args, 2)
			}
			c.again = func(session time.Time) string { return againCommand(cmd.Flags(), args, session) }
			return c.run(cmd.Context(), args[0], strings.Join(args[1:], ""))
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.project, "project", "", "the project's `DIR` (default: the current one)")
	f.BoolVarP(&c.rerun, "rerun", "a", false, "ignore saved state and run everything")
	f.BoolVar(&c.rerun, "all", false, "the same as --rerun")
	f.StringVarP(&c.start, "start", "s", "", "run `+NAME` and what follows even if their state is saved")
	f.StringVarP(&c.goal, "goal", "g", "", "run `+NAME` and its children even if their state is saved, and nothing after")
	f.StringVarP(&c.end, "end", "e", "", "skip `+NAME` and what follows")
	f.StringVarP(&c.save, "save", "o", ".digdag/status", "`DIR` of saved state, relative to the project")
	f.BoolVar(&c.noSave, "no-save", false, "neither read nor write saved state")
	f.StringVar(&c.session, "session", "last", "session `TIME`: daily, hourly, schedule, last, or \"yyyy-MM-dd[ HH:mm:ss]\"")
	f.StringVarP(&c.session, "session-time", "t", "last", "the same as --session")
	f.BoolVarP(&c.dryRun, "dry-run", "d", false, "evaluate parameters but run no operator")
	f.BoolVarP(&c.showParams, "show-params", "E", false, "print parameters before each operator")
	f.IntVar(&c.threads, "max-task-threads", 0, "how many tasks may run at once (0: no limit)")
	f.StringVarP(&c.taskLog, "task-log", "O", "", "keep the logs of tasks below this `DIR`")
	f.StringArrayVar(&c.envFiles, "env-file", nil, "give commands the KEY=value lines of a `FILE`, below _env_files and _env; may be given more than once, the later one wins")
	f.BoolVar(&c.accept, "accept-local", false, acceptLocalUsage)
	f.StringVar(&c.timezone, "timezone", "", "accepted for compatibility, without effect: `timezone:` of the workflow says it")
	f.BoolVar(&c.strict, "strict", false, "warnings are errors: nothing is run")
	c.registerParams(cmd)
	c.register(cmd)
	return cmd
}

// checkFlags refuses options that contradict each other, in the original's words.
func (c *runCommand) checkFlags() error {
	for _, pair := range []struct {
		both        bool
		first, then string
	}{
		{c.start != "" && c.goal != "", "-s, --start", "-g, --goal"},
		{c.goal != "" && c.end != "", "-g, --goal", "-e, --end"},
		{c.rerun && c.start != "", "-a, --rerun", "-s, --start"},
		{c.rerun && c.goal != "", "-a, --rerun", "-g, --goal"},
	} {
		if pair.both {
			return usageError{fmt.Errorf("%s and %s don't work together", pair.first, pair.then)}
		}
	}
	return nil
}

func (c *runCommand) run(ctx context.Context, argument, pattern string) error {
	if err := c.checkFlags(); err != nil {
		return err
	}
	if c.original() {
		banner(c.err)
	}
	settings, err := c.load()
	if err != nil {
		return err
	}
	c.tell(c.err, settings)
	if c.timezone != "" && !asDigdag() {
		fmt.Fprintln(c.err, "warning: --timezone has no effect: `timezone:` of the workflow says it")
	}
	if err := settings.stayHere(c.accept, false, executorPlaces...); err != nil {
		return err
	}
	project, err := openProject(c.project)
	if err != nil {
		return err
	}
	params, err := c.parametersOf(settings, project)
	if err != nil {
		return err
	}
	variables, err := readEnvFiles(c.envFiles)
	if err != nil {
		return err
	}
	if err := ownState(project.Root()); err != nil {
		return err
	}
	if !c.noSave && !c.dryRun && !filepath.IsAbs(c.save) {
		if err := writable(project.Root()); err != nil {
			return err
		}
	}
	named := workflowArgument(project, argument)
	workflows, names, faults, err := loadHere(project, named, c.err)
	if err != nil {
		return err
	}
	workflow, err := findWorkflow(project, workflows, named, c.project)
	if err != nil {
		return err
	}
	for _, w := range catalogue.UndeclaredWarnings(workflow.Config, params) {
		fmt.Fprintln(c.err, "warning: "+w)
	}
	if err := c.warn(project, workflow.Name+".dig", names, workflows, faults, params); err != nil {
		return err
	}
	r := &localRun{runCommand: c, settings: settings, params: params, variables: variables, files: project, workflows: workflows, workflow: workflow, pattern: pattern}
	return r.do(ctx)
}

// readEnvFiles reads the variables of files that --env-file names, in their order.
func readEnvFiles(names []string) (variables []string, err error) {
	for _, name := range names {
		text, err := os.ReadFile(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("read variables of --env-file: there is no file %s, seen from the current folder", name)
		case err != nil:
			return nil, fmt.Errorf("read variables of --env-file: %w", err)
		}
		list, err := dig.ReadEnvFile(name, text)
		if err != nil {
			return nil, err
		}
		for _, v := range list {
			variables = append(variables, v.Name+"="+v.Value)
		}
	}
	return variables, nil
}

// warn tells what looks wrong in the workflow's file, and which schedules of others are.
func (c *runCommand) warn(project files.Project, file string, names []string, workflows []dig.Workflow, faults dig.ScheduleFaults, params *param.Map) error {
	warnings, err := sortFaults(faults, file)
	if err != nil {
		return err
	}
	more, err := projectWarnings(project, names, workflows, file, params)
	if err != nil {
		return err
	}
	return tellWarnings(c.err, append(warnings, more...), c.strict)
}

// misplaced returns the command line for an argument that is a folder, or has a task in place of the workflow; "" for others.
func misplaced(name string, workflows []string) string {
	workflow, task, hasTask := strings.Cut(name, "+")
	switch {
	case name == "." && len(workflows) > 0:
		return "name a workflow, such as " + shellWord(workflows[0])
	case hasTask && workflow == "" && len(workflows) > 0:
		return "name the workflow first: zerodag run " + shellWord(workflows[0]) + " +" + task
	case hasTask && slices.Contains(workflows, workflow):
		return "put a space before the task: zerodag run " + shellWord(workflow) + " +" + task
	}
	return ""
}

// findWorkflow finds a workflow of a project by its name; project is what --project names.
func findWorkflow(p files.Project, workflows []dig.Workflow, name, project string) (dig.Workflow, error) {
	for _, w := range workflows {
		if w.Name == name {
			return w, nil
		}
	}
	var names []string
	for _, w := range workflows {
		names = append(names, w.Name)
	}
	hint := ""
	if near := likely(name, names); near != "" && !asDigdag() {
		hint = "\nhint: did you mean " + near + "?"
	}
	if meant := misplaced(name, names); meant != "" && !asDigdag() {
		hint = "\nhint: " + meant
	}
	if other := elsewhere(p); other != "" && !strings.Contains(name, "/") && !asDigdag() {
		hint = "\nhint: " + other
	}
	if ext := path.Ext(name); (ext == ".yaml" || ext == ".yml") && !asDigdag() {
		if _, err := os.Stat(filepath.Join(p.Root(), filepath.FromSlash(name))); err == nil {
			return dig.Workflow{}, fmt.Errorf("%s is not a workflow: a workflow file ends in .dig\nhint: rename it: mv %s %s", name, shellWord(name), shellWord(strings.TrimSuffix(name, ext)+".dig"))
		}
	}
	folder, _, inFolder := cutLast(name, "/")
	if !asDigdag() {
		folder = shellWord(folder)
	}
	switch {
	case project != "":
		return dig.Workflow{}, fmt.Errorf("Workflow '%s' does not exist in project directory '%s'. (resource not found)%s", name, project, hint)
	case inFolder:
		return dig.Workflow{}, fmt.Errorf("Workflow '%s' does not exist in current directory. You may need to type \"cd %s\" first, or set \"--project %s\" option. (resource not found)%s", name, folder, folder, hint)
	}
	return dig.Workflow{}, fmt.Errorf("Workflow '%s' does not exist in current directory. You may need to change directory first, or set --project option. (resource not found)%s", name, hint)
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// localRun is one `zerodag run` with everything it needs.
type localRun struct {
	*runCommand
	settings  settings
	params    *param.Map
	variables []string // for all commands, "NAME=value"
	files     files.Project
	workflows []dig.Workflow
	workflow  dig.Workflow
	pattern   string

	log       *console
	output    *runOutput
	status    *statusFolder // nil with --no-save
	plan      *plan
	sessionAt time.Time
	began     time.Time
}

// original reports whether the run writes log lines, as Digdag does, for scripts to read.
func (c *runCommand) original() bool { return asDigdag() || c.logPath != "-" }

func (r *localRun) do(ctx context.Context) error {
	def, err := engine.Define(r.workflow)
	if err != nil {
		return err
	}
	if def.Nodes, err = subtree(def.Nodes, r.pattern); err != nil {
		return err
	}
	out, closeLog, err := r.logWriter(r.streams)
	if err != nil {
		return err
	}
	defer closeLog()
	reading := r.settings.reading()
	form := logFormatOfTasks(reading)
	if reading.err != nil {
		return reading.err
	}
	if r.log, err = newConsole(out, r.logLevel, form); err != nil {
		return err
	}
	if path, ok := r.params.Get(projectPath); ok && r.original() {
		r.log.message(operators.Info, "io.digdag.cli.Arguments", fmt.Sprint("Setting project path to ", path))
	}
	if note := paramServerNote(r.settings); note != "" {
		r.warning(note)
	}
	if _, live := r.terminal(); live {
		r.log.level = min(r.log.level, warnLevel) // the tree says the rest
	}
	if err := r.chooseSession(def.Zone); err != nil {
		return err
	}
	if r.plan, err = r.planOf(def.Nodes); err != nil {
		return err
	}
	if !r.noSave {
		r.status = newStatusFolder(r.saved(), r.sessionAt)
		r.plan.use(r.status, def.Nodes)
		if r.original() {
			r.log.message(operators.Info, "io.digdag.cli.Run", "Using session "+r.status.dir+".")
		}
	}
	state, err := r.attempt(ctx)
	if err != nil {
		return err
	}
	flushed := r.log.flush()
	return cmp.Or(flushed, r.status.close(), r.report(state))
}

// warning says what is no task's.
func (r *localRun) warning(text string) {
	if r.original() {
		r.log.message(operators.Warn, "io.digdag.cli.Run", text)
		return
	}
	fmt.Fprintln(r.err, "warning: "+text)
}

// localProjectName is the name of the project that a run on this machine is of, for its tasks.
const localProjectName = "default"

func (r *localRun) attempt(ctx context.Context) (*engine.State, error) {
	limit, err := r.settings.integer("io.digdag.limits.maxWorkflowTasks", 0)
	if err != nil {
		return nil, err
	}
	if limit, err = r.settings.integer("executor.task_max_run", limit); err != nil {
		return nil, err
	}
	config, err := r.settings.below("config.")
	if err != nil {
		return nil, err
	}
	secrets, err := localSecrets(r.settings)
	if err != nil {
		return nil, err
	}
	notifier, err := newNotifier(r.settings)
	if err != nil {
		return nil, err
	}
	reading := r.settings.reading()
	stored := storedSetting(reading)
	where := ownFolder(commandSettings(reading))
	if where.Environment == lineage.NotOwn {
		where.Environment = lineage.Everything // it is that of the user who wrote the command line
	}
	commands, err := executors.New(where)
	if err = cmp.Or(reading.err, err); err != nil {
		return nil, err
	}
	defer scratch.Leave(r.files.Root())
	defer cutWhenToldAgain(ctx, commands)()
	pool := evaluators.New("")
	defer pool.Close()
	view := newView(ctx, r)
	r.began = time.Now()
	host := local.New(local.Options{
		Registry:  all.Registry(),
		Store:     files.NewParamStore(r.files.Root()+"/.digdag/params", time.Now),
		Notifier:  notifier,
		HTTP:      &httpclient.Clients{},
		Variables: r.variables,
		Config:    config,
		Evaluator: pool,
		Project:   local.Project{ID: 1, Name: localProjectName, Revision: time.Now().UTC().Format(time.RFC3339)},
		Workflows: r.workflows,
		Secrets:   secrets,
		Workspace: r.workspace(commands.In),
		Log:       view.log,
		Limit:     limit,
		Threads:   r.threads,
		Stored:    stored,
		Defaults:  r.params,
		Now:       time.Now,
		Before:    r.before,
		Changed:   r.changed(view),
	})
	if r.original() {
		r.log.message(operators.Info, "io.digdag.core.workflow.WorkflowExecutor", fmt.Sprintf(
			"Starting a new session project id=1 workflow name=%s session_time=%s", r.workflow.Name, operators.FormatTime(r.sessionAt)))
	}
	a, err := host.Run(ctx, local.Request{Workflow: r.workflow.Name, SessionTime: r.sessionAt, Params: r.params,
		Only: r.only})
	view.close()
	if err != nil {
		return nil, err
	}
	return a.State, nil
}

// only is what of a workflow is to be run. Where a part of it is not, its outputs could not be told.
func (r *localRun) only(nodes []dig.Node) ([]dig.Node, error) {
	nodes, err := subtree(nodes, r.pattern)
	if err == nil && (r.dryRun || r.goal != "" || r.end != "") {
		nodes = slices.Clone(nodes)
		nodes[0].Config = nodes[0].Config.Without(dig.OutputsKey)
	}
	return nodes, err
}

// cutWhenToldAgain leaves no command behind when the program is told to end for the second time, until over is called.
func cutWhenToldAgain(ctx context.Context, commands *executors.Executors) (over func()) {
	return whenToldAgain(ctx, func() (leave bool) {
		within, stop := context.WithTimeout(context.WithoutCancel(ctx), cutTime)
		defer stop()
		commands.Cut(within)
		return true
	})
}

// cutTime is how long a run that leaves at once waits for the end of what it has killed: what hangs in the kernel may never end.
const cutTime = 10 * time.Second

// workspace is the project's own folder: locally tasks share their files.
func (r *localRun) workspace(in executors.In) func(operators.Identity) (local.Workspace, error) {
	return func(id operators.Identity) (local.Workspace, error) {
		return local.Workspace{Files: r.files, Commands: in(r.files.Root(), id), Leave: func() {}}, nil
	}
}

// before takes saved results for tasks that are not to be run again, and carries out
// --dry-run and --show-params.
func (r *localRun) before(j *operators.Job) *operators.Result {
	if result := r.plan.instead(j.TaskName); result != nil {
		text := skipped
		if r.plan.leaves(j.TaskName) && !r.original() {
			text = "skipped by --goal or --end"
		}
		j.Log.Line(operators.Warn, "Run$OperatorManagerWithSkip", text)
		return result
	}
	if r.dryRun || r.showParams {
		j.Before = func(evaluated *param.Map) bool {
			if r.showParams {
				j.Log.Line(operators.Warn, "Run$OperatorManagerWithSkip", "\n"+indented(string(dig.FormatYAML(evaluated)), "  "))
			}
			return !r.dryRun
		}
	}
	return nil
}

// changed saves tasks as they end and shows where everything stands.
func (r *localRun) changed(v view) func(*engine.State, []engine.Change) {
	return func(s *engine.State, changes []engine.Change) {
		for _, c := range changes {
			if t, ok := c.(engine.TaskChanged); ok && t.Progress.State == engine.Success {
				r.plan.save(s.Task(t.Task))
				r.output.forget(s.Task(t.Task).Name)
			}
		}
		v.changed(s, changes)
	}
}
