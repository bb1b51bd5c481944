// Package embulk implements `embulk>`: it runs a bulk load with Embulk. Agents with a sandbox run it. It must start
// processes only through Commands, and must never log the configuration of a load, which may contain secrets.
package embulk

import (
	"context"

	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/operators"
)

// Operator returns `embulk>`.
func Operator() operators.Operator {
	return operators.Operator{Name: "embulk", Summary: "loads data with Embulk", Retries: true, Commands: true, Run: run}
}

// loadFile is the configuration file that Embulk reads: it is named as YAML, and its JSON is valid YAML.
const loadFile = "load.yml"

// notFound is the shell's exit code for a missing program.
const notFound = 127

func run(ctx context.Context, t *operators.Task) (operators.Result, error) {
	p, err := t.Params.WithDefaults("embulk")
	if err != nil {
		return operators.Result{}, err
	}
	config, err := config(t, p)
	if err != nil {
		return operators.Result{}, err
	}
	exit, err := t.RunScript(ctx, operators.Script{
		Operator: "embulk",
		Files:    map[string][]byte{loadFile: param.AppendJSON(nil, config)},
		Args: func(_ string, file func(string) string) []string {
			return []string{"/bin/sh", "-c", start, "embulk", "run", file(loadFile)}
		},
	})
	switch {
	case err != nil:
		return operators.Result{}, err
	case exit.Code == notFound:
		return operators.Result{}, operators.Failf("embulk>: the program `embulk` or Java was not found: install both where commands run, " +
			"or name an image that contains them in `docker: {image: …}`")
	case exit.Code != 0:
		return operators.Result{}, operators.Faultf("", "Command failed with code %d", exit.Code)
	}
	return operators.Result{}, nil
}

// start is the shell command that starts embulk. This way, a missing program is reported in the same form wherever
// commands run, and the configuration with its secrets is removed when the load ends, no matter what happens to the
// folder.
const start = `trap 'rm -f "$2"' EXIT; trap 'exit 143' TERM; embulk "$@"`

// config returns the configuration of the load: a file with `${...}` and secrets replaced, or the mapping `config`,
// whose secrets are not replaced.
func config(t *operators.Task, p *operators.Params) (param.Value, error) {
	if !p.Has("_command") {
		return operators.Read(p, "config", param.AsMap)
	}
	text, err := t.CommandText(p, "")
	if err != nil {
		return nil, err
	}
	v, err := dig.ParseYAML("embulk>", []byte(text))
	if err != nil {
		return nil, param.Errorf("%v", err)
	}
	m, err := param.AsMap("embulk>", v)
	if err != nil {
		return nil, err
	}
	return withSecrets(t, text, m)
}

// withSecrets replaces `${secret:key}` in all text of a tree that was parsed from text.
func withSecrets(t *operators.Task, whole string, v param.Value) (param.Value, error) {
	switch x := v.(type) {
	case string:
		return t.SecretPart(whole, x)
	case *param.Map:
		out := param.New()
		for k, e := range x.All() {
			e, err := withSecrets(t, whole, e)
			if err != nil {
				return nil, err
			}
			out.Set(k, e)
		}
		return out, nil
	case []param.Value:
		out := make([]param.Value, len(x))
		for i := range x {
			var err error
			if out[i], err = withSecrets(t, whole, x[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return v, nil
}
