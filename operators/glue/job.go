package glue

import (
	"context"
	"slices"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/glue"
	"github.com/aws/aws-sdk-go-v2/service/glue/types"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/aws"
)

// keyArgument is the argument that identifies a run as this task's.
const keyArgument = "--zerodag-key"

// job is one run of a Glue job.
type job struct {
	service
	input *glue.StartJobRunInput
}

func jobInput(t *operators.Task, p *operators.Params) (*glue.StartJobRunInput, error) {
	name, err := p.String("_command")
	if err != nil {
		return nil, err
	}
	if name == "" {
		return nil, param.Errorf("glue> needs the name of a job, or a 'crawler'")
	}
	in := &glue.StartJobRunInput{JobName: &name}
	if in.Arguments, err = operators.ReadOr(p, "arguments", asArguments, nil); err != nil {
		return nil, err
	}
	if in.Arguments == nil {
		in.Arguments = map[string]string{}
	}
	in.Arguments[keyArgument] = aws.Name(t)
	if err := readSize(p, in); err != nil {
		return in, err
	}
	return in, readBounds(p, in)
}

// asArguments reads a mapping of names, with or without "--" before them.
func asArguments(key string, v param.Value) (map[string]string, error) {
	m, err := param.AsMap(key, v)
	if err != nil {
		return nil, err
	}
	arguments := map[string]string{}
	for name, v := range m.All() {
		if v == nil {
			continue
		}
		text, isText := v.(string)
		if !isText {
			text = param.Text(v)
		}
		if !strings.HasPrefix(name, "--") {
			name = "--" + name
		}
		if name == keyArgument {
			return nil, param.Errorf("%s: %s is reserved for the argument by which this task finds its run", key, name)
		}
		arguments[name] = text
	}
	return arguments, nil
}

func readSize(p *operators.Params, in *glue.StartJobRunInput) error {
	kind, err := p.StringOr("worker_type", "")
	if err != nil {
		return err
	}
	in.WorkerType = types.WorkerType(kind)
	workers, err := p.IntOr("workers", 0)
	if err != nil {
		return err
	}
	if workers < 0 || workers > 1<<20 {
		return param.Errorf("Parameter 'workers' is not a valid number of workers: %d", workers)
	}
	if workers > 0 {
		in.NumberOfWorkers = new(int32(workers))
	}
	if in.MaxCapacity, err = operators.ReadOr(p, "max_capacity", asCapacity, nil); err != nil {
		return err
	}
	if in.MaxCapacity != nil && (kind != "" || workers > 0) {
		return param.Errorf("Can't use max_capacity with worker_type or workers")
	}
	return nil
}

// readBounds reads the time limit, class and security configuration of a run.
func readBounds(p *operators.Params, in *glue.StartJobRunInput) error {
	limit, err := p.DurationOr("timeout", 0)
	if err != nil {
		return err
	}
	if limit != 0 && (limit < time.Minute || limit > 7*24*time.Hour) {
		return param.Errorf("Parameter 'timeout' must be from 1 minute to 7 days: %v", limit)
	}
	if limit != 0 {
		in.Timeout = new(int32(limit / time.Minute))
	}
	class, err := p.StringOr("execution_class", "")
	if err != nil {
		return err
	}
	in.ExecutionClass = types.ExecutionClass(strings.ToUpper(class))
	if class != "" && !slices.Contains(in.ExecutionClass.Values(), in.ExecutionClass) {
		return param.Errorf("Parameter 'execution_class' must be standard or flex: %s", class)
	}
	security, err := p.StringOr("security_configuration", "")
	if security != "" {
		in.SecurityConfiguration = &security
	}
	return err
}

func asCapacity(key string, v param.Value) (*float64, error) {
	if text, isText := v.(string); isText {
		if n, err := param.ParseNumber(text); err == nil {
			v = n
		}
	}
	switch n := v.(type) {
	case int64:
		return new(float64(n)), nil
	case float64:
		return &n, nil
	}
	return nil, param.Errorf("Parameter '%s' is not a number: %s", key, param.Text(v))
}

// run proceeds from the intent, which is stored before anything is started, to the run's id, and then to its end.
func (j *job) run(ctx context.Context) (operators.Result, error) {
	if !aws.Started(j.task) {
		return operators.Result{}, aws.Again(j.task, 0, param.New("since", j.task.Now.Unix(), "tries", int64(0)))
	}
	state := aws.Job(j.task)
	id, err := state.StringOr("run", "")
	if err != nil {
		return operators.Result{}, err
	}
	if id == "" {
		return operators.Result{}, j.begin(ctx, state)
	}
	looks, err := state.IntOr("looks", 0)
	if err != nil {
		return operators.Result{}, err
	}
	out, err := j.getJobRun(ctx, &glue.GetJobRunInput{JobName: j.input.JobName, RunId: &id})
	switch {
	case err != nil && ctx.Err() == nil && aws.Temporary(err), err == nil && running(out.JobRun.JobRunState):
		return operators.Result{}, j.lookAgain(id, looks)
	case err != nil:
		return operators.Result{}, j.call("look up run "+id, "glue:GetJobRun").Failure(ctx, err)
	case out.JobRun.JobRunState != types.JobRunStateSucceeded:
		text := sdk.ToString(out.JobRun.ErrorMessage)
		if text != "" {
			text = ": " + text
		}
		return operators.Result{}, operators.Failf("glue>: run %s of %s ended as %s%s", id, *j.input.JobName, out.JobRun.JobRunState, text)
	}
	last := param.New("id", id, "job", *j.input.JobName, "state", string(out.JobRun.JobRunState), "seconds", int64(out.JobRun.ExecutionTime))
	return operators.Result{Store: param.New("glue", param.New("last_run", last)), ResetStore: [][]string{{"glue", "last_run"}}}, nil
}

func running(s types.JobRunState) bool {
	return slices.Contains([]types.JobRunState{types.JobRunStateStarting, types.JobRunStateRunning, types.JobRunStateStopping, types.JobRunStateWaiting}, s)
}

// begin finds the run that an earlier run of the task started, whose response or state was lost, or otherwise starts
// it.
func (j *job) begin(ctx context.Context, state *operators.Params) error {
	since, err := state.Int("since")
	if err != nil {
		return err
	}
	tries, err := state.IntOr("tries", 0)
	if err != nil {
		return err
	}
	id, err := j.find(ctx, time.Unix(since, 0))
	needs, doing := "glue:GetJobRuns", "look up the runs of "+*j.input.JobName
	if err == nil && id == "" {
		needs, doing = "glue:StartJobRun", "start job "+*j.input.JobName
		var out *glue.StartJobRunOutput
		if out, err = j.startJobRun(ctx, j.input, onlyRefused); err == nil {
			id = *out.JobRunId
		}
	}
	if err != nil {
		if again, later := j.notStarted(ctx, err, tries, param.New("since", since)); again {
			return later
		}
		return j.call(doing, needs).Failure(ctx, err)
	}
	j.log(operators.Info, "Started run "+id+" of "+*j.input.JobName)
	return j.lookAgain(id, 0)
}

// skew is the maximum clock difference between this host and AWS.
const skew = time.Hour

// runsOf adapts the operation to the SDK's paginator.
type runsOf aws.Operation[glue.GetJobRunsInput, glue.GetJobRunsOutput, glue.Options]

func (call runsOf) GetJobRuns(ctx context.Context, in *glue.GetJobRunsInput, options ...func(*glue.Options)) (*glue.GetJobRunsOutput, error) {
	return call(ctx, in, options...)
}

// find returns the run that has this task's key, "" for none. The list begins with the newest run, so it is read only
// back to the time at which the task began.
func (j *job) find(ctx context.Context, since time.Time) (string, error) {
	pages := glue.NewGetJobRunsPaginator(j.getJobRuns, &glue.GetJobRunsInput{JobName: j.input.JobName, MaxResults: new(int32(100))})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return "", err
		}
		old := false
		for _, r := range page.JobRuns {
			if r.Arguments[keyArgument] == j.input.Arguments[keyArgument] {
				return sdk.ToString(r.Id), nil
			}
			old = r.StartedOn != nil && r.StartedOn.Before(since.Add(-skew))
		}
		if old { // the last run of the page
			break
		}
	}
	return "", nil
}

func (j *job) lookAgain(id string, looks int64) error {
	return aws.Again(j.task, aws.Backoff(looks, shortestWait, longestWait), param.New("run", id, "looks", looks+1))
}

// stop ends the run after a kill, even if its start never got a response.
func (j *job) stop(ctx context.Context) error {
	state := aws.Job(j.task)
	id, err := state.StringOr("run", "")
	if err != nil {
		return err
	}
	if id == "" {
		since, err := state.IntOr("since", 0)
		if err != nil {
			return err
		}
		if id, err = j.find(ctx, time.Unix(since, 0)); err != nil {
			return j.call("look up the runs of "+*j.input.JobName, "glue:GetJobRuns").Failure(ctx, err)
		}
		if id == "" {
			return nil
		}
	}
	out, err := j.batchStopJobRun(ctx, &glue.BatchStopJobRunInput{JobName: j.input.JobName, JobRunIds: []string{id}})
	if err != nil {
		return j.call("stop run "+id, "glue:BatchStopJobRun").Failure(ctx, err)
	}
	return j.stopped(ctx, id, out.Errors)
}

// stopped returns an error if the run continues. A run that had already ended is not an error.
func (j *job) stopped(ctx context.Context, id string, errors []types.BatchStopJobRunError) error {
	if len(errors) == 0 || errors[0].ErrorDetail == nil {
		return nil
	}
	out, err := j.getJobRun(ctx, &glue.GetJobRunInput{JobName: j.input.JobName, RunId: &id})
	if err == nil && (!running(out.JobRun.JobRunState) || out.JobRun.JobRunState == types.JobRunStateStopping) {
		return nil
	}
	return operators.Failf("glue>: can't stop run %s of %s: %s", id, *j.input.JobName, sdk.ToString(errors[0].ErrorDetail.ErrorMessage))
}
