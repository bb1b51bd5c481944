// Package py implements `py>`: it calls a Python function. Agents with a sandbox run it; it must start processes only
// through Commands.
package py

import (
	"context"
	_ "embed"

	"zerodag/operators"
)

//go:embed runner.py
var runnerText string

const runner = "runner.py"

// Operator returns `py>`.
func Operator() operators.Operator {
	return operators.Operator{Name: "py", Summary: "calls a Python function, method or class", Retries: true, Commands: true, Run: run}
}

func run(ctx context.Context, t *operators.Task) (operators.Result, error) {
	p, err := t.Params.WithDefaults("py")
	if err != nil {
		return operators.Result{}, err
	}
	script, err := script(p)
	if err != nil {
		return operators.Result{}, err
	}
	exit, err := t.RunScript(ctx, script)
	if err != nil {
		return operators.Result{}, err
	}
	return operators.RunnerResult(exit, "Python command failed")
}

func script(p *operators.Params) (operators.Script, error) {
	python, err := operators.ReadOr(p, "python", operators.Words, anyPython())
	if err != nil {
		return operators.Script{}, err
	}
	text, method := runnerText, []string(nil)
	if p.Has("_command") {
		command, err := p.String("_command")
		if err != nil {
			return operators.Script{}, err
		}
		method = []string{command}
	} else if text, err = p.String("script"); err != nil {
		return operators.Script{}, err
	}
	return operators.Script{
		Operator: "py",
		Files: map[string][]byte{
			runner:              []byte(text),
			operators.InputFile: operators.RunnerInput(p.All()),
		},
		Outputs: []string{operators.OutputFile},
		Args: func(_ string, file func(string) string) []string {
			args := append(python, file(runner))
			return append(append(args, method...), file(operators.InputFile), file(operators.OutputFile))
		},
	}, nil
}

// anyPython returns a command that starts python, or python3 if only that exists. The choice is made where the command
// runs, which is not necessarily this machine.
func anyPython() []string {
	const choose = `p=python; command -v "$p" >/dev/null 2>&1 || p=python3; exec "$p" "$@"`
	return []string{"/bin/sh", "-c", choose, "python"}
}
