package emr

import (
	_ "embed"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/emr/types"

	"zerodag/engine/param"
	"zerodag/operators"
)

// What runs on the cluster.
var (
	//go:embed runner.py
	runnerText []byte
	//go:embed spark_sql.py
	sparkSQLText []byte
	//go:embed spark_exit.scala
	sparkExitText []byte
)

// program is one step or bootstrap action as the runner on the cluster reads it.
type program struct {
	stage   *stage
	section string // "steps", "bootstrap"
	n       string
	config  *param.Map // download, working_directory, env, command
	command []param.Value
	loads   []param.Value
	env     *param.Map
	plain   []string // the command as it is written
	at      int      // index of its configuration in the uploads
}

func newProgram(s *stage, section string, n int) *program {
	return &program{stage: s, section: section, n: strconv.Itoa(n), env: param.New()}
}

// add appends words to the command.
func (p *program) add(words ...string) error {
	for _, w := range words {
		v, err := p.stage.value(w)
		if err != nil {
			return err
		}
		p.command = append(p.command, v)
		p.plain = append(p.plain, w)
	}
	return nil
}

// local puts a file into the working folder on the cluster and returns its name there. A
// file that is on S3 is used where it is, unless it must be a file of that machine.
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

// own puts a text of ours into the working folder.
func (p *program) own(name string, content []byte) (string, error) {
	uri, err := p.stage.share(name, content)
	if err == nil {
		p.load(uri, name, "")
	}
	return name, err
}

// readEnv and readFiles read what scripts, commands and bootstrap actions have.
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
		value, err := p.stage.value(text)
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

// bare says whether the command runs as it is: nothing to fetch, to set, to decrypt.
func (p *program) bare() bool {
	return len(p.loads) == 0 && p.env.Len() == 0 && !slices.ContainsFunc(p.plain, operators.HasSecret)
}

// finish stages the configuration and returns the addresses of the runner and of it.
func (p *program) finish() (string, string, error) {
	p.config = param.New("download", p.loads, "working_directory",
		fmt.Sprintf("~/digdag-staging/%s/%s/%s/wd", p.stage.tag, p.section, p.n), "env", p.env, "command", p.command)
	runner, err := p.stage.share("runner.py", runnerText)
	if err != nil {
		return "", "", err
	}
	p.at = len(p.stage.uploads)
	config, err := p.stage.put(p.section, p.n, "config.json", nil) // filled when its secrets are sealed
	return runner, config, err
}

// readSteps reads the steps of a task.
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

// readStep reads one step; its program is nil where the command runs as it is.
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
		return step, nil, param.Errorf("Invalid action_on_failure: %s: it is TERMINATE_JOB_FLOW, TERMINATE_CLUSTER, CANCEL_AND_WAIT or CONTINUE", action)
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
		if err := p.add(option, name+"="+text); err != nil {
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

func (p *program) flink(o *operators.Params) (string, error) {
	const title = "Flink Application"
	application, err := p.required(o, "application")
	if err != nil {
		return title, err
	}
	containers, err := o.IntOr("yarn_containers", 2)
	if err != nil {
		return title, err
	}
	name, err := p.local(application, false, true)
	if err != nil {
		return title, err
	}
	if err := p.add("flink", "run", "-m", "yarn-cluster", "-yn", strconv.FormatInt(containers, 10), name); err != nil {
		return title, err
	}
	return title, p.args(o, "args")
}

func (p *program) hive(o *operators.Params) (string, error) {
	const title = "Hive Script"
	script, err := p.required(o, "script")
	if err != nil {
		return title, err
	}
	uri, err := p.stage.upload(script, p.section, p.n, false)
	if err != nil {
		return title, err
	}
	if err := p.add("hive-script", "--run-hive-script", "--args", "-f", uri); err != nil {
		return title, err
	}
	if err := p.pairs(o, "vars", "-d"); err != nil {
		return title, err
	}
	return title, p.pairs(o, "hiveconf", "-hiveconf")
}

// listed adds `--jars a,b`.
func (p *program) listed(o *operators.Params, key string) error {
	list, err := p.files(o, key)
	if err != nil || len(list) == 0 {
		return err
	}
	names := make([]string, len(list))
	for i, f := range list {
		if names[i], err = p.local(f, false, false); err != nil {
			return err
		}
	}
	return p.add("--"+key, strings.Join(names, ","))
}

func (p *program) spark(o *operators.Params) (string, error) {
	application, err := p.required(o, "application")
	if err != nil {
		return "", err
	}
	kind := path.Ext(application.name)
	if kind == ".scala" {
		return "Spark Shell Script", p.sparkShell(o, application)
	}
	title := "Spark Application"
	if kind == ".py" {
		title = "Spark Py Script"
	}
	mode, err := o.StringOr("deploy_mode", "cluster")
	if err != nil {
		return title, err
	}
	if err := p.submit(o, "spark-submit", mode); err != nil {
		return title, err
	}
	class, err := o.StringOr("class", "")
	if err != nil {
		return title, err
	}
	if class != "" {
		if err := p.add("--class", class); err != nil {
			return title, err
		}
	}
	name, err := p.local(application, kind == ".py", false)
	if err != nil {
		return title, err
	}
	if err := p.add(name); err != nil {
		return title, err
	}
	return title, p.args(o, "args")
}

// submit adds what spark-submit and spark-shell have in common.
func (p *program) submit(o *operators.Params, program, mode string) error {
	if err := p.add(program, "--deploy-mode", mode); err != nil {
		return err
	}
	if err := p.args(o, "submit_options"); err != nil {
		return err
	}
	for _, key := range []string{"jars", "files"} {
		if err := p.listed(o, key); err != nil {
			return err
		}
	}
	return p.pairs(o, "conf", "--conf")
}

func (p *program) sparkShell(o *operators.Params, application file) error {
	mode, err := o.StringOr("deploy_mode", "client")
	if err != nil {
		return err
	}
	if mode != "client" {
		return param.Errorf("Only 'client' deploy_mode is supported for Spark shell scala scripts, got: '%s'", mode)
	}
	args, err := operators.ReadOr(o, "args", operators.ListOf, nil)
	if err != nil {
		return err
	}
	if len(args) > 0 {
		return param.Errorf("The 'args' parameter is not supported for Spark shell scala scripts")
	}
	if err := p.submit(o, "spark-shell", mode); err != nil {
		return err
	}
	name, err := p.local(application, true, true)
	if err != nil {
		return err
	}
	end, err := p.own("exit-helper.scala", sparkExitText)
	if err != nil {
		return err
	}
	return p.add("-i", name, end)
}

func (p *program) sparkSQL(o *operators.Params) (string, error) {
	const title = "Spark Sql"
	query, err := p.required(o, "query")
	if err != nil {
		return title, err
	}
	result, err := o.String("result")
	if err != nil {
		return title, err
	}
	mode, err := o.StringOr("deploy_mode", "cluster")
	if err != nil {
		return title, err
	}
	name, err := p.local(query, true, true)
	if err != nil {
		return title, err
	}
	wrapper, err := p.own("spark-sql-wrapper.py", sparkSQLText)
	if err != nil {
		return title, err
	}
	if err := p.add("spark-submit", "--deploy-mode", mode, "--files", name); err != nil {
		return title, err
	}
	if err := p.pairs(o, "conf", "--conf"); err != nil {
		return title, err
	}
	if err := p.args(o, "submit_options"); err != nil {
		return title, err
	}
	if err := p.listed(o, "jars"); err != nil {
		return title, err
	}
	return title, p.add(wrapper, name, result)
}

func (p *program) scriptStep(o *operators.Params) (string, error) {
	const title = "Script"
	script, err := p.required(o, "script")
	if err != nil {
		return title, err
	}
	if err := p.script(script); err != nil {
		return title, err
	}
	return title, p.rest(o)
}

func (p *program) commandStep(o *operators.Params) (string, error) {
	const title = "Command"
	command, err := o.String("command")
	if err != nil {
		return title, err
	}
	if err := p.add(command); err != nil {
		return title, err
	}
	return title, p.rest(o)
}

// rest is what scripts and commands have.
func (p *program) rest(o *operators.Params) error {
	if err := p.args(o, "args"); err != nil {
		return err
	}
	if err := p.readEnv(o); err != nil {
		return err
	}
	return p.readFiles(o)
}
