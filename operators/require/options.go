package require

import (
	"time"

	"zerodag/engine/param"
	"zerodag/operators"
)

// options are the task's options; request already has the rerun's name.
type options struct {
	request       operators.StartRequest
	ignoreFailure bool
	rerunOn       string
}

func (o options) reruns(done operators.StartedAttempt) bool {
	return o.rerunOn == "all" || o.rerunOn == "failed" && !done.Success
}

func read(t *operators.Task) (options, error) {
	var o options
	var err error
	p := t.Params
	if o.request.Workflow, err = p.String("_command"); err != nil {
		return o, err
	}
	if o.request.SessionTime, err = operators.Read(p, "session_time", asInstant); err != nil {
		return o, err
	}
	if o.ignoreFailure, err = p.BoolOr("ignore_failure", false); err != nil {
		return o, err
	}
	if o.rerunOn, err = p.StringOr("rerun_on", "none"); err != nil {
		return o, err
	}
	if o.rerunOn != "none" && o.rerunOn != "failed" && o.rerunOn != "all" {
		return o, param.Errorf("invalid rerun_on option:%s", o.rerunOn)
	}
	if o.request.Params, err = operators.ReadOr(p, "params", param.AsMap, param.New()); err != nil {
		return o, err
	}
	return o, readLocal(t, &o.request)
}

// readLocal reads parameters that only count if they are the task's own.
func readLocal(t *operators.Task, r *operators.StartRequest) error {
	for _, key := range []string{"project_id", "project_name", "retry_attempt_name"} {
		t.Params.Get(key) // marks it as used
	}
	local := operators.NewParams(t.Local)
	var err error
	if r.ProjectID, err = local.IntOr("project_id", 0); err != nil {
		return err
	}
	if r.ProjectName, err = local.StringOr("project_name", ""); err != nil {
		return err
	}
	if local.Has("project_id") && local.Has("project_name") {
		return param.Errorf("Both project_id and project_name can't be set")
	}
	if r.RetryAttemptName, err = local.StringOr("retry_attempt_name", ""); err != nil {
		return err
	}
	r.RetryAttemptName, err = operators.NewParams(t.State).StringOr(rerunKey, r.RetryAttemptName)
	return err
}

func asInstant(key string, v param.Value) (time.Time, error) {
	text, err := param.AsString(key, v)
	if err != nil {
		return time.Time{}, err
	}
	instant, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, param.Errorf("Expected instant for key '%s' but got %s (write it like 2024-02-29T12:34:56+00:00)", key, param.Text(v))
	}
	return instant, nil
}
