package emr

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/emr/types"

	"zerodag/engine/param"
	"zerodag/operators"
)

// Scripts for the cluster.
var (
	//go:embed runner.py
	runnerText []byte
	//go:embed spark_sql.py
	sparkSQLText []byte
	//go:embed spark_exit.scala
	sparkExitText []byte
)

// program is one step or bootstrap action, as input for the runner on the cluster.
type program struct {
	stage   *stage
	section string // "steps", "bootstrap"
	n       string
	config  *param.Map // download, working_directory, env, command
	command []param.Value
	loads   []param.Value
	env     *param.Map
	plain   []string // the command before evaluation
	at      int      // index of its configuration in the uploads
}

func newProgram(s *stage, section string, n int) *program {
	return &program{stage: s, section: section, n: strconv.Itoa(n), env: param.New()}
}

// add appends words to the command.
func (p *program) add(words ...string) error {
	for _, w := range words {
		if err := p.addMade(w, w); err != nil {
			return err
		}
	}
	return nil
}

// addMade appends a word that was derived from a parameter.
func (p *program) addMade(parameter, word string) error {
	v, err := p.stage.value(parameter, word)
	if err != nil {
		return err
	}
	p.command = append(p.command, v)
	p.plain = append(p.plain, word)
	return nil
}

// local puts a file into the working folder on the cluster and returns its name there. A file on S3 is used in place,
// unless it must be a local file.
func (p *program) local(f file, template, must bool) (string, error) {
	if f.uri != "" && !must {
		return f.uri, nil
	}
	uri, err := p.stage.upload(f, p.section, p.n, template)
	if err != nil {
		return "", err
	}
	p.load(uri, f.name, "")
	return f.name, nil
}

func (p *program) load(uri, name, mode string) {
	m := param.New("src", uri, "dst", name)
	if mode != "" {
		m.Set("mode", mode)
	}
	p.loads = append(p.loads, m)
}

// own puts one of zerodag's own scripts into the working folder.
func (p *program) own(name string, content []byte) (string, error) {
	uri, err := p.stage.share(name, content)
	if err == nil {
		p.load(uri, name, "")
	}
	return name, err
}

// readEnv and readFiles read what scripts, commands and bootstrap actions have in common.
func (p *program) readEnv(o *operators.Params) error {
	m, err := operators.ReadOr(o, "env", param.AsMap, nil)
	if err != nil {
		return err
	}
	for name, v := range m.All() {
		text, err := param.AsString(name, v)
		if err != nil {
			return err
		}
		value, err := p.stage.value(text, text)
		if err != nil {
			return err
		}
		p.env.Set(name, value)
	}
	return nil
}

func (p *program) readFiles(o *operators.Params) error {
	list, err := p.files(o, "files")
	if err != nil {
		return err
	}
	for _, f := range list {
		if _, err := p.local(f, false, true); err != nil {
			return err
		}
	}
	return nil
}

func (p *program) files(o *operators.Params, key string) ([]file, error) {
	names, err := operators.ReadOr(o, key, operators.ListOf, nil)
	if err != nil {
		return nil, err
	}
	list := make([]file, len(names))
	for i, name := range names {
		if list[i], err = p.stage.reference(key, name); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// script puts an executable file into the working folder and runs it.
func (p *program) script(f file) error {
	uri, err := p.stage.upload(f, p.section, p.n, false)
	if err != nil {
		return err
	}
	p.load(uri, f.name, "755")
	return p.add("./" + f.name)
}

// bare reports whether the command runs directly: there is nothing to fetch, set or decrypt.
func (p *program) bare() bool {
	return len(p.loads) == 0 && p.env.Len() == 0 && !slices.ContainsFunc(p.plain, operators.HasSecret)
}

// finish stages the configuration and returns the addresses of the runner and of the configuration.
func (p *program) finish() (string, string, error) {
	p.config = param.New("download", p.loads, "working_directory",
		fmt.Sprintf("~/digdag-staging/%s/%s/%s/wd", p.stage.tag, p.section, p.n), "env", p.env, "command", p.command)
	runner, err := p.stage.share("runner.py", runnerText)
	if err != nil {
		return "", "", err
	}
	p.at = len(p.stage.uploads)
	config, err := p.stage.put(p.section, p.n, "config.json", nil) // written once its secrets are sealed
	return runner, config, err
}

// readSteps reads a task's steps.
func readSteps(s *stage) ([]types.StepConfig, []*program, error) {
	list, err := operators.Read(s.params, "steps", param.ParseList)
	if err != nil {
		return nil, nil, err
	}
	if len(list) == 0 {
		return nil, nil, operators.Failf("steps")
	}
	usual, err := s.params.StringOr("action_on_failure", string(types.ActionOnFailureCancelAndWait))
	if err != nil {
		return nil, nil, err
	}
	var steps []types.StepConfig
	var programs []*program
	for i, v := range list {
		m, err := param.ParseMap("steps", v)
		if err != nil {
			return nil, nil, err
		}
		step, p, err := readStep(s, operators.NewParams(m), i, usual)
		if err != nil {
			return nil, nil, err
		}
		steps = append(steps, step)
		if p != nil {
			programs = append(programs, p)
		}
	}
	return steps, programs, nil
}

// readStep reads one step; its program is nil if the command runs directly.
func readStep(s *stage, o *operators.Params, i int, usual string) (types.StepConfig, *program, error) {
	var step types.StepConfig
	kind, err := o.String("type")
	if err != nil {
		return step, nil, err
	}
	p := newProgram(s, "steps", i)
	read := map[string]func(*program, *operators.Params) (string, error){
		"flink": (*program).flink, "hive": (*program).hive, "spark": (*program).spark, "spark-sql": (*program).sparkSQL,
		"script": (*program).scriptStep, "command": (*program).commandStep}[kind]
	if read == nil {
		return step, nil, param.Errorf("Unsupported step type: %s", kind)
	}
	title, err := read(p, o)
	if err != nil {
		return step, nil, err
	}
	name, err := o.StringOr("name", title)
	if err != nil {
		return step, nil, err
	}
	action, err := o.StringOr("action_on_failure", usual)
	if err != nil {
		return step, nil, err
	}
	if !slices.Contains(types.ActionOnFailure("").Values(), types.ActionOnFailure(action)) {
		return step, nil, param.Errorf("Invalid action_on_failure: %s: use TERMINATE_JOB_FLOW, TERMINATE_CLUSTER, CANCEL_AND_WAIT or CONTINUE", action)
	}
	step = types.StepConfig{Name: new(name + " (" + s.tag + ")"), ActionOnFailure: types.ActionOnFailure(action),
		HadoopJarStep: &types.HadoopJarStepConfig{Jar: new("command-runner.jar"), Args: p.plain}}
	if p.bare() {
		return step, nil, nil
	}
	runner, config, err := p.finish()
	step.HadoopJarStep.Args = []string{"bash", "-c", `aws s3 cp "$0" - | python3 - "$1"`, runner, config}
	return step, p, err
}

func (p *program) args(o *operators.Params, key string) error {
	words, err := operators.ReadOr(o, key, operators.ListOf, nil)
	if err != nil {
		return err
	}
	return p.add(words...)
}

// pairs adds `-d k=v` for every key of a mapping.
func (p *program) pairs(o *operators.Params, key, option string) error {
	m, err := operators.ReadOr(o, key, param.AsMap, nil)
	if err != nil {
		return err
	}
	for name, v := range m.All() {
		text, err := param.AsString(name, v)
		if err != nil {
			return err
		}
		if err := p.add(option); err != nil {
			return err
		}
		if err := p.addMade(text, name+"="+text); err != nil {
			return err
		}
	}
	return nil
}

func (p *program) required(o *operators.Params, key string) (file, error) {
	name, err := o.String(key)
	if err != nil {
		return file{}, err
	}
	return p.stage.reference(key, name)
}
