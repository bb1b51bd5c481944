// Package sh implements `sh>`: it runs a shell script. Agents with a sandbox run it; it must start processes only
// through Commands.
package sh

import (
	"context"
	"path"
	"slices"
	"strings"

	"zerodag/operators"
)

// Operator returns `sh>`.
func Operator() operators.Operator {
	return operators.Operator{Name: "sh", Summary: "runs a shell script", Retries: true, Commands: true, Run: run}
}

const runner = "runner.sh"

// shells are the shells whose option -e ends a script at the first command that fails.
const shells = " sh bash dash ash ksh mksh zsh "

// stopping adds -e to a shell, after its name so that the user's options take precedence: `[/bin/sh, +e]` continues
// after failures. Other programs are unchanged.
func stopping(shell []string) []string {
	for i, word := range shell[:min(len(shell), 2)] { // the second word for `[/usr/bin/env, bash]` and `[busybox, sh]`
		name := strings.TrimSuffix(path.Base(strings.ReplaceAll(word, `\`, "/")), ".exe")
		if strings.Contains(shells, " "+name+" ") {
			return slices.Insert(slices.Clone(shell), i+1, "-e")
		}
	}
	return shell
}

func run(ctx context.Context, t *operators.Task) (operators.Result, error) {
	p, err := t.Params.WithDefaults("sh")
	if err != nil {
		return operators.Result{}, err
	}
	shell, err := operators.ReadOr(p, "shell", operators.ListOf, []string{"/bin/sh"})
	if err != nil {
		return operators.Result{}, err
	}
	if t.Level > 0 {
		shell = stopping(shell)
	}
	command, err := p.String("_command")
	if err != nil {
		return operators.Result{}, err
	}
	if command, err = t.SecretText(command); err != nil {
		return operators.Result{}, err
	}
	env, err := operators.ParamEnv(p.All())
	if err != nil {
		return operators.Result{}, err
	}
	exit, err := t.RunScript(ctx, operators.Script{
		Operator: "sh",
		Files:    map[string][]byte{runner: []byte(command)},
		Env:      env,
		Args: func(_ string, file func(string) string) []string {
			return append(shell, file(runner))
		},
	})
	if err == nil && exit.Code != 0 {
		err = operators.Faultf("", "Command failed with %v", exit)
	}
	return operators.Result{}, err
}
