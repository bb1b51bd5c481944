// Package rb implements `rb>`: it calls a Ruby method. Agents with a sandbox run it; it must start processes only
// through Commands.
package rb

import (
	"context"
	_ "embed"

	"zerodag/operators"
)

//go:embed runner.rb
var runnerText string

const runner = "runner.rb"

// Operator returns `rb>`.
func Operator() operators.Operator {
	return operators.Operator{Name: "rb", Summary: "calls a Ruby method", Retries: true, Commands: true, Run: run}
}

func run(ctx context.Context, t *operators.Task) (operators.Result, error) {
	p, err := t.Params.WithDefaults("rb")
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
	return operators.RunnerResult(exit, "Ruby command failed")
}

func script(p *operators.Params) (operators.Script, error) {
	ruby, err := operators.ReadOr(p, "ruby", operators.Words, []string{"ruby"})
	if err != nil {
		return operators.Script{}, err
	}
	feature, err := p.StringOr("require", "")
	if err != nil {
		return operators.Script{}, err
	}
	args := append(ruby, "-I", ".")
	if feature != "" {
		args = append(args, "-r", feature)
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
		Operator: "rb",
		Files: map[string][]byte{
			runner:              []byte(text),
			operators.InputFile: operators.RunnerInput(p.All()),
		},
		Outputs: []string{operators.OutputFile},
		Args: func(_ string, file func(string) string) []string {
			args := append(append(args, "--", file(runner)), method...)
			return append(args, file(operators.InputFile), file(operators.OutputFile))
		},
	}, nil
}
