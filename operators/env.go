package operators

import (
	"errors"
	"io/fs"
	"slices"
	"strconv"

	"zerodag/engine/dig"
	"zerodag/engine/param"
)

// isEnvName reports whether a string can be the name of a variable: letters, digits and _, not starting with a digit.
// Each command calls it for all its parameters.
func isEnvName(text string) bool {
	for i := range len(text) {
		c := text[i]
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return text != ""
}

// IdentityEnv returns the variables that describe the task's run to every command, as "NAME=value". Each has two names:
// ZERODAG_TRY, and DIGDAG_TRY for older scripts.
func (t *Task) IdentityEnv() []string {
	pairs := [...]string{
		"ATTEMPT_ID=" + strconv.FormatInt(t.AttemptID, 10),
		"SESSION_ID=" + strconv.FormatInt(t.SessionID, 10),
		"PROJECT=" + t.ProjectName,
		"TASK_NAME=" + t.TaskName,
		"TRY=" + strconv.Itoa(t.Try),
		"IDEMPOTENCY_KEY=" + t.IdempotencyKey(),
	}
	env := make([]string, 0, 2*len(pairs))
	for _, pair := range pairs {
		env = append(env, "ZERODAG_"+pair, "DIGDAG_"+pair)
	}
	return env
}

// ParamEnv returns every parameter whose name can be the name of a variable: text unchanged, everything else as JSON
// (operators/sh/README.md). A null is an error, wherever it comes from: Digdag requires every parameter.
func ParamEnv(params *param.Map) ([]string, error) {
	env := make([]string, 0, params.Len())
	for name, v := range params.All() {
		if !isEnvName(name) {
			continue
		}
		if v == nil {
			return nil, param.Errorf("Parameter '%s' is required but null", name)
		}
		text, isText := v.(string)
		if !isText {
			text = param.Text(v)
		}
		env = append(env, name+"="+text)
	}
	return env, nil
}

// EnvFilesKey names files with variables.
const EnvFilesKey = "_env_files"

// LocalEnv returns the variables that a user has set for the task's command, with secrets replaced; later ones with the
// same name win: variables of the host, of `_env_files`, and `_env`. Secret keys are used as written: `_secrets` does
// not re-mount them.
func (t *Task) LocalEnv() ([]string, error) {
	env, err := t.variables()
	if err != nil {
		return nil, err
	}
	own, err := t.ownEnv()
	return append(env, own...), err
}

// variables returns the variables of the host and of files; every reference to a secret in them was written by a user.
func (t *Task) variables() (env []string, err error) {
	list := slices.Clone(t.Variables)
	for _, f := range t.VariableFiles {
		text, err := t.Files.Read(f.Name)
		switch {
		case errors.Is(err, fs.ErrNotExist) && f.Optional:
			continue
		case errors.Is(err, fs.ErrNotExist):
			return nil, param.Errorf("%s: the project has no file %s; write '%s?' if it may be missing", EnvFilesKey, f.Name, f.Name)
		case err != nil:
			return nil, err
		}
		read, err := dig.ReadEnvFile(f.Name, text)
		if err != nil {
			return nil, param.Errorf("%s: %s", EnvFilesKey, err)
		}
		for _, v := range read {
			list = append(list, v.Name+"="+v.Value)
		}
	}
	for _, v := range list {
		if v, err = ReplaceForm(SecretForm(), v, nil, t.requireUnmounted); err != nil {
			return nil, err
		}
		env = append(env, v)
	}
	return env, nil
}

// ownEnv returns `_env`.
func (t *Task) ownEnv() ([]string, error) {
	t.Params.Get("_env")
	v, ok := t.Local.Get("_env")
	if !ok || v == nil {
		return nil, nil
	}
	names, err := param.AsMap("_env", v)
	if err != nil {
		return nil, err
	}
	var env []string
	for name, v := range names.All() {
		if !isEnvName(name) {
			return nil, param.Errorf("Invalid _env key name: %s", name)
		}
		if v == nil {
			continue
		}
		text, err := param.AsString(name, v)
		if err != nil {
			return nil, err
		}
		value, err := t.replace(text, t.requireUnmounted)
		if err != nil {
			return nil, err
		}
		env = append(env, name+"="+value)
	}
	return env, nil
}

func (t *Task) requireUnmounted(key string) (string, error) {
	return required(key, t.Secrets.GetUnmounted)
}
