package plugin

import (
	"context"
	"path"
	"strings"

	"zerodag/engine/param"
	"zerodag/operators"
)

// version is the protocol version. A program refuses unknown versions.
const version = 1

// A run's files, in its scratch folder.
const (
	requestFile = "request.json"
	resultFile  = "result.json"
)

// start passes the request on stdin. Commands have no stdin, so that they can be sent anywhere: a shell opens the file,
// and removes its name before the program runs, as it may contain secrets.
const start = `ZERODAG_RESULT=$PWD/$2; export ZERODAG_RESULT; exec 3<"$1" || exit; rm -f "$1"; shift 2; exec "$@" <&3 3<&-`

func (p program) start(ctx context.Context, t *operators.Task, action string) (operators.Exit, error) {
	request, err := p.request(t, action)
	if err != nil {
		return operators.Exit{}, err
	}
	return t.RunScript(ctx, operators.Script{
		Operator: "plugin",
		Files:    map[string][]byte{requestFile: request},
		Outputs:  []string{resultFile},
		Args: func(workdir string, file func(string) string) []string {
			command := append([]string{p.programFrom(workdir)}, p.command[1:]...)
			return append([]string{"/bin/sh", "-c", start, p.name, file(requestFile), file(resultFile)}, command...)
		},
	})
}

// programFrom returns the program relative to a working folder: one with a slash in its name is a project file, and
// anything else is searched for in the PATH.
func (p program) programFrom(workdir string) string {
	name := p.command[0]
	if path.IsAbs(name) || !strings.Contains(name, "/") {
		return name
	}
	if workdir == "" {
		return "./" + name
	}
	return strings.Repeat("../", strings.Count(workdir, "/")+1) + name
}

func (p program) request(t *operators.Task, action string) ([]byte, error) {
	secrets, err := granted(t)
	if err != nil {
		return nil, err
	}
	state, err := operators.ReadOr(operators.NewParams(t.State.Map(stateKey)), ownKey, param.AsMap, param.New())
	if err != nil {
		return nil, err
	}
	params := t.Params.All()
	command, _ := params.Get("_command")
	return param.AppendJSON(nil, param.New(
		"version", int64(version), "action", action, "operator", p.name, "command", command,
		"params", params, "config", t.Local, "state", state, "secrets", secrets, "task", identity(t),
	)), nil
}

func identity(t *operators.Task) *param.Map {
	return param.New(
		"name", t.TaskName, "id", t.TaskID, "attempt_id", t.AttemptID, "session_id", t.SessionID,
		"session_uuid", t.SessionUUID, "session_time", operators.FormatTime(t.SessionTime), "timezone", t.Zone,
		"project_id", t.ProjectID, "project", t.ProjectName, "revision", t.Revision, "workflow", t.Workflow,
		"retry_attempt_name", t.RetryAttemptName, "try", int64(t.Try), "retry_count", int64(t.RetryCount),
		"idempotency_key", t.IdempotencyKey(),
	)
}

// granted returns the secrets that the task names in `_secrets`, by the names that it gives them: {api: {token: true}}
// is "api.token", and {api: {token: prod.token}} is the secret prod.token under the name "api.token".
func granted(t *operators.Task) (*param.Map, error) {
	names, err := operators.ReadOr(t.Params, "_secrets", param.AsMap, nil)
	if err != nil {
		return nil, err
	}
	secrets := param.New()
	return secrets, grant(t, "", names, secrets)
}

func grant(t *operators.Task, prefix string, names, secrets *param.Map) error {
	for name, v := range names.All() {
		key := prefix + name
		switch x := v.(type) {
		case *param.Map:
			if err := grant(t, key+".", x, secrets); err != nil {
				return err
			}
			continue
		case string:
		case bool:
			if !x {
				return param.Errorf("Illegal value in _secrets: %s", param.Text(v))
			}
		default:
			return param.Errorf("Illegal value in _secrets: %s", param.Text(v))
		}
		value, err := t.RequireSecret(key)
		if err != nil {
			return err
		}
		secrets.Set(key, value)
	}
	return nil
}
