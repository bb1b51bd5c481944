package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"zerodag/engine/dig"
	"zerodag/engine/expr/assets"
	"zerodag/engine/expr/script"
	"zerodag/engine/param"
	"zerodag/internal/evaluators/evaluator"
	"zerodag/internal/host"
	"zerodag/internal/httpclient"
	"zerodag/internal/local"
	"zerodag/internal/process"
	"zerodag/internal/projectfiles"
	"zerodag/operators"
	"zerodag/operators/all"
)

// moment is shared by all cases.
var moment = sync.OnceValue(func() *script.Moment { return script.CompileMoment(assets.Moment()) })

// defaultSession is the session time of cases that name none.
const defaultSession = "2024-02-29T12:34:56+00:00"

// Case is one recorded case.
type Case struct {
	Name, Dir string
	Expected  object

	Workflow    string            `json:"workflow"`
	Params      json.RawMessage   `json:"params"` // in significant order
	SessionTime string            `json:"session_time"`
	Secrets     map[string]string `json:"secrets"`
	Steps       []Step            `json:"steps"`
	Files       []string          `json:"files"`
	FilesSorted bool              `json:"files_sorted"`
	Mails       string            `json:"mails"`
	ProjectDir  string            `json:"project_dir"`
	PushQuery   string            `json:"push_query"`
	TimeLimit   float64           `json:"time_limit"` // seconds
	Needs       []string          `json:"needs"`
	InProcess   bool              `json:"in_process"`
}

// LoadCases reads all cases below dir.
func LoadCases(dir string) ([]Case, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*", "case.json"))
	if err != nil {
		return nil, err
	}
	var cases []Case
	for _, name := range names {
		c := Case{Dir: filepath.Dir(name), Workflow: "main", SessionTime: defaultSession, TimeLimit: 60}
		c.Name = filepath.Base(c.Dir)
		for file, into := range map[string]any{"case.json": &c, "expected.json": &c.Expected} {
			text, err := os.ReadFile(filepath.Join(c.Dir, file))
			if err != nil {
				return nil, err
			}
			if err := json.Unmarshal(text, into); err != nil {
				return nil, fmt.Errorf("%s of %s: %w", file, c.Name, err)
			}
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// world is the environment in which a case runs.
type world struct {
	Case
	out     string         // scratch folder, @OUT@
	project string         // pushed files
	spaces  string         // folder of the runs' fresh copies
	copies  *regexp.Regexp // paths of them
	*Surroundings
	logs *logs
}

// Run carries out a case and returns what conform.py would have recorded.
func (c Case) Run(t testing.TB, s *Surroundings) object {
	// The scratch names look like Digdag's and contain no link, because pwd shows them.
	tmp, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Case: c, out: filepath.Join(tmp, "out"), project: filepath.Join(tmp, "project"),
		spaces: filepath.Join(tmp, "workspace"), Surroundings: s, logs: &logs{lines: map[string][]string{}}}
	w.copies = regexp.MustCompile(regexp.QuoteMeta(w.spaces) + `/[^\s/:'"]+`)
	for _, dir := range []string{w.out, w.project, w.spaces} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.push(); err != nil {
		t.Fatal(err)
	}
	return w.run(t)
}

// push copies the project files that an archive would contain.
func (w *world) push() error {
	root := filepath.Join(w.Dir, w.ProjectDir)
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, path)
		if err != nil || rel == "case.json" || rel == "expected.json" {
			return err
		}
		target := filepath.Join(w.project, rel)
		if d.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.WriteFile(target, w.database.here(content), info.Mode())
	})
}

func (w *world) run(t testing.TB) object {
	result := object{"attempts": object{}}
	w.start(t, result)
	if w.Files != nil {
		result["files"] = w.readFiles()
	}
	if w.Mails != "" {
		var mails any = w.mail.take(w.Mails)
		result["mails"] = w.normValue(mails)
	}
	return result
}

// start pushes the project and runs its attempt.
func (w *world) start(t testing.TB, result object) {
	project, err := projectfiles.Open(w.project)
	if err != nil {
		t.Fatal(err)
	}
	names, err := project.List()
	if err != nil {
		t.Fatal(err)
	}
	workflows, err := dig.Load(project.Source, projectfiles.WorkflowNames(names))
	if err != nil {
		result["push"] = object{"ok": false, "status": 400.0, "message": w.norm(err.Error())}
		return
	}
	result["push"] = object{"ok": true}
	attempt, err := w.attempt(t, workflows)
	switch {
	case err != nil:
		result["steps"] = []any{object{"op": "start", "result": object{"status": statusOf(err), "message": w.norm(err.Error())}}}
	case attempt == nil:
		result["steps"] = []any{object{"op": "wait_done", "result": "TIMEOUT"}}
	default:
		result["attempts"] = object{"a1": w.describe(attempt)}
	}
}

// statusOf returns the status with which the API answers a start that fails with err.
func statusOf(err error) float64 {
	if errors.Is(err, operators.ErrNoWorkflow) {
		return http.StatusNotFound
	}
	return http.StatusBadRequest
}

// attempt runs the only attempt of the case, and returns nil if it did not end in time.
func (w *world) attempt(t testing.TB, workflows []dig.Workflow) (*local.Attempt, error) {
	text := w.SessionTime
	for _, s := range w.Steps {
		if s.SessionTime != "" && s.Op == "start" {
			text = s.SessionTime
		}
	}
	session, err := time.Parse("2006-01-02T15:04:05Z07:00", text)
	if err != nil {
		return nil, fmt.Errorf("Invalid ISO time format: %s", text)
	}
	params := param.New()
	if len(w.Params) > 0 {
		if err := json.Unmarshal(w.Params, params); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(w.TimeLimit)*time.Second)
	defer cancel()
	a, err := w.host(workflows).Run(ctx, local.Request{Workflow: w.Workflow, SessionTime: session.Truncate(time.Second), Params: w.sub(params).(*param.Map)})
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, nil
	}
	return a, err
}

func (w *world) host(workflows []dig.Workflow) *local.Host {
	return local.New(local.Options{
		Runtime: host.Runtime{
			Registry:  all.Registry(),
			Evaluator: evaluator.InProcess(moment),
			Store:     func(int64) operators.ParamStore { return w.store },
			HTTP:      &httpclient.Clients{},
			Workspace: w.workspace,
		},
		Notifier:  quiet{},
		Project:   local.Project{ID: 1, Name: "case-" + w.Name, Revision: "r1"},
		Workflows: workflows,
		Secrets:   secrets(w.Secrets),
		Log:       w.logs.of,
		Now:       time.Now,
	})
}

// workspace gives each run a fresh copy of the project, with the same name as in Digdag.
func (w *world) workspace(_ context.Context, id operators.Identity, _ host.Workflow) (host.Workspace, error) {
	root, err := os.MkdirTemp(w.spaces, fmt.Sprintf("%d_main_%d_%d_", id.ProjectID, id.AttemptID, id.TaskID)+strings.Repeat("0", 15)+"*")
	if err != nil {
		return host.Workspace{}, err
	}
	pushed, err := projectfiles.Open(w.project)
	if err != nil {
		return host.Workspace{}, err
	}
	project, err := pushed.CopyTo(root)
	if err != nil {
		return host.Workspace{}, err
	}
	return host.Workspace{Files: project, Commands: process.New(process.Options{}).In(root), Leave: func() { os.RemoveAll(root) }}, nil
}

type secrets map[string]string

func (s secrets) Secret(key string) (string, bool, error) {
	v, ok := s[key]
	return v, ok, nil
}

// quiet sends no notices, like the recorded Digdag.
type quiet struct{}

func (quiet) NotifySlow(context.Context, string, *operators.Task) error { return nil }

func (quiet) Notify(context.Context, string, *operators.Task) error { return nil }

// logs keeps the lines of each task's log.
type logs struct {
	mu    sync.Mutex
	lines map[string][]string
}

// of gives a run its log; logs of attempts that require> started do not belong to the case.
func (l *logs) of(id operators.Identity) operators.Log {
	if id.AttemptID != 1 {
		return &taskLog{logs: &logs{lines: map[string][]string{}}, task: id.TaskName}
	}
	l.add(id.TaskName, engineMark) // in Digdag, each run has a separate file
	return &taskLog{logs: l, task: id.TaskName}
}

type taskLog struct {
	logs *logs
	task string
}

func (l *taskLog) Write(p []byte) (int, error) { l.logs.add(l.task, string(p)); return len(p), nil }
func (l *taskLog) Echo(message string)         { l.logs.add(l.task, message) }

func (l *taskLog) Line(level operators.Level, logger, message string) {
	if level != operators.Debug {
		l.logs.add(l.task, fmt.Sprintf("%s[%s] %s: %s\n", engineMark, level, logger, message))
	}
}

// engineMark precedes a line of the engine: it begins a new line even if a command or echo> wrote no line break. No
// command writes it.
const engineMark = "\uE000engine\uE001"

func (l *logs) add(task, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines[task] = append(l.lines[task], text)
}
