package emr

import (
	"path"
	"strconv"
	"strings"

	"zerodag/engine/param"
	"zerodag/operators"
)

// Each kind of step reads its parameters into the command of a program, and returns the default name of its steps.

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

// rest adds what scripts and commands have in common.
func (p *program) rest(o *operators.Params) error {
	if err := p.args(o, "args"); err != nil {
		return err
	}
	if err := p.readEnv(o); err != nil {
		return err
	}
	return p.readFiles(o)
}
