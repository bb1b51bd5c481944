package emr

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/emrserverless"
	"github.com/aws/aws-sdk-go-v2/service/emrserverless/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/aws"
)

// jobRun is a job on an application of EMR Serverless.
type jobRun struct {
	*stage
	serverlessCalls
	objects *s3.Client
	in      *emrserverless.StartJobRunInput

	id    string // "" before the start
	looks int64
}

// serverlessCalls holds the EMR Serverless operations that tasks need.
type serverlessCalls struct {
	getJobRun    aws.Operation[emrserverless.GetJobRunInput, emrserverless.GetJobRunOutput, emrserverless.Options]
	startJobRun  aws.Operation[emrserverless.StartJobRunInput, emrserverless.StartJobRunOutput, emrserverless.Options]
	listJobRuns  jobRunsOf
	cancelJobRun aws.Operation[emrserverless.CancelJobRunInput, emrserverless.CancelJobRunOutput, emrserverless.Options]
}

func openServerless(ctx context.Context, account *aws.Account, from source) (*jobRun, error) {
	s, err := newStage(from)
	if err != nil {
		return nil, err
	}
	j := &jobRun{stage: s}
	if j.in, err = readJob(s); err != nil {
		return nil, err
	}
	job := aws.Job(s.task)
	if j.id, err = job.StringOr("run", ""); err != nil {
		return nil, err
	}
	if j.looks, err = job.IntOr("looks", 0); err != nil {
		return nil, err
	}
	c, _, err := s.config(ctx, account, "emr")
	if err != nil {
		return nil, err
	}
	client := emrserverless.NewFromConfig(c)
	j.serverlessCalls = serverlessCalls{getJobRun: client.GetJobRun, startJobRun: client.StartJobRun, listJobRuns: client.ListJobRuns,
		cancelJobRun: client.CancelJobRun}
	c, own, err := s.config(ctx, account, "s3")
	j.objects = s3.NewFromConfig(c, func(o *s3.Options) { o.UsePathStyle = own })
	return j, err
}

// readJob reads the request for a job; because of its token, EMR responds to a repeated request with the first
// request's job.
func readJob(s *stage) (*emrserverless.StartJobRunInput, error) {
	p := s.params
	in := &emrserverless.StartJobRunInput{ClientToken: new(aws.Name(s.task))}
	application, err := p.String("application")
	if err != nil {
		return nil, err
	}
	role, err := p.String("execution_role")
	if err != nil {
		return nil, err
	}
	name, err := p.StringOr("name", "Digdag")
	if err != nil {
		return nil, err
	}
	in.ApplicationId, in.ExecutionRoleArn, in.Name = &application, &role, new(name+" ("+s.tag+")")
	timeout, err := p.DurationOr("timeout", 0)
	if err != nil {
		return nil, err
	}
	if timeout != 0 && timeout < 5*time.Minute {
		return nil, param.Errorf("'timeout' of a job must be at least 5m, got %v", timeout)
	}
	if timeout != 0 {
		in.ExecutionTimeoutMinutes = new(int64(timeout / time.Minute))
	}
	tags, err := operators.ReadOr(p, "tags", param.AsMap, nil)
	if err != nil {
		return nil, err
	}
	for key, v := range tags.All() {
		if in.Tags == nil {
			in.Tags = map[string]string{}
		}
		if in.Tags[key], err = aws.AsMessage(key, v); err != nil {
			return nil, err
		}
	}
	if in.ConfigurationOverrides, err = overrides(s); err != nil {
		return nil, err
	}
	in.JobDriver, err = driver(s)
	return in, err
}

func overrides(s *stage) (*types.ConfigurationOverrides, error) {
	list, err := readConfigurations(s, s.params)
	if err != nil {
		return nil, err
	}
	logs, err := s.params.StringOr("logs", "")
	if err != nil || logs == "" && len(list) == 0 {
		return nil, err
	}
	o := &types.ConfigurationOverrides{}
	for _, c := range list {
		if len(c.Configurations) > 0 {
			return nil, param.Errorf("configurations of EMR Serverless cannot be nested: %s", *c.Classification)
		}
		o.ApplicationConfiguration = append(o.ApplicationConfiguration, types.Configuration{Classification: c.Classification, Properties: c.Properties})
	}
	if logs != "" {
		o.MonitoringConfiguration = &types.MonitoringConfiguration{S3MonitoringConfiguration: &types.S3MonitoringConfiguration{LogUri: &logs}}
	}
	return o, nil
}

// driver reads what the job runs: Spark or Hive. Files of the project are staged.
func driver(s *stage) (types.JobDriver, error) {
	spark, err := operators.ReadOr(s.params, "spark", param.ParseMap, nil)
	if err != nil {
		return nil, err
	}
	hive, err := operators.ReadOr(s.params, "hive", param.ParseMap, nil)
	if err != nil {
		return nil, err
	}
	if (spark == nil) == (hive == nil) {
		return nil, param.Errorf("emr>: 'application' needs one of 'spark' and 'hive'")
	}
	if hive != nil {
		return hiveDriver(s, operators.NewParams(hive))
	}
	o := operators.NewParams(spark)
	entry, err := s.staged(o, "application")
	if err != nil {
		return nil, err
	}
	args, err := operators.ReadOr(o, "args", operators.ListOf, nil)
	if err != nil {
		return nil, err
	}
	options, err := o.StringOr("submit_options", "")
	if err != nil {
		return nil, err
	}
	return &types.JobDriverMemberSparkSubmit{Value: types.SparkSubmit{EntryPoint: entry, EntryPointArguments: args, SparkSubmitParameters: optional(options)}}, nil
}

func hiveDriver(s *stage, o *operators.Params) (types.JobDriver, error) {
	query, err := s.staged(o, "query")
	if err != nil {
		return nil, err
	}
	h := types.Hive{Query: query}
	if o.Has("init") {
		if h.InitQueryFile, err = s.staged(o, "init"); err != nil {
			return nil, err
		}
	}
	parameters, err := o.StringOr("parameters", "")
	h.Parameters = optional(parameters)
	return &types.JobDriverMemberHive{Value: h}, err
}

// staged returns a file's address on S3; a project file is uploaded there, with `${...}` evaluated if it is text.
func (s *stage) staged(o *operators.Params, key string) (*string, error) {
	name, err := o.String(key)
	if err != nil {
		return nil, err
	}
	f, err := s.reference(key, name)
	if err != nil {
		return nil, err
	}
	uri, err := s.upload(f, "jobs", key, !strings.HasSuffix(f.name, ".jar"))
	return &uri, err
}

func (j *jobRun) call(doing, needs string) aws.Call {
	return aws.Call{Operator: "emr", Doing: doing, Needs: needs}
}

func (j *jobRun) run(ctx context.Context) (operators.Result, error) {
	if j.id == "" {
		return operators.Result{}, j.start(ctx)
	}
	out, err := j.getJobRun(ctx, &emrserverless.GetJobRunInput{ApplicationId: j.in.ApplicationId, JobRunId: &j.id})
	switch {
	case err != nil && ctx.Err() == nil && aws.Temporary(err):
		return operators.Result{}, j.look()
	case err != nil:
		return operators.Result{}, j.call("look up job run "+j.id, "emr-serverless:GetJobRun").Failure(ctx, err)
	case out.JobRun.State == types.JobRunStateSuccess:
		j.clear(ctx, j.objects)
		last := param.New("application", *j.in.ApplicationId, "id", j.id)
		return operators.Result{Store: param.New("emr", param.New("last_job_run", last)), ResetStore: [][]string{{"emr", "last_job_run"}}}, nil
	case !ended(out.JobRun.State):
		return operators.Result{}, j.look()
	}
	j.clear(ctx, j.objects)
	why := deref(out.JobRun.StateDetails)
	if why != "" {
		why = ": " + why
	}
	return operators.Result{}, operators.Failf("EMR job failed: job run %s of application %s is %s%s", j.id, *j.in.ApplicationId, out.JobRun.State, why)
}

func ended(s types.JobRunState) bool {
	return slices.Contains([]types.JobRunState{types.JobRunStateSuccess, types.JobRunStateFailed, types.JobRunStateCancelled}, s)
}

func (j *jobRun) look() error {
	j.looks++
	return aws.Again(j.task, aws.Backoff(j.looks-1, shortestWait, longestWait), param.New("run", j.id, "looks", j.looks))
}

func (j *jobRun) start(ctx context.Context) error {
	if err := j.send(ctx, j.objects); err != nil {
		return err
	}
	out, err := j.startJobRun(ctx, j.in)
	if aws.Code(err) == "ConflictException" {
		// The parameters now evaluate to something different: use the job of the first start.
		ids, found := j.find(ctx)
		if found == nil && len(ids) > 0 {
			return j.started(ids[0])
		}
	}
	if err != nil {
		return unanswered(ctx, j.task, err, j.call("start a job on application "+*j.in.ApplicationId,
			"emr-serverless:StartJobRun, and iam:PassRole on the role "+*j.in.ExecutionRoleArn))
	}
	return j.started(*out.JobRunId)
}

func (j *jobRun) started(id string) error {
	j.id = id
	j.task.Log.Line(operators.Info, "EmrOperator", "Started job run "+id+" on application "+*j.in.ApplicationId)
	return j.look()
}

// jobRunsOf adapts the operation to the SDK's paginator.
type jobRunsOf aws.Operation[emrserverless.ListJobRunsInput, emrserverless.ListJobRunsOutput, emrserverless.Options]

func (call jobRunsOf) ListJobRuns(ctx context.Context, in *emrserverless.ListJobRunsInput, options ...func(*emrserverless.Options)) (*emrserverless.ListJobRunsOutput, error) {
	return call(ctx, in, options...)
}

// find lists the unfinished runs of this try, by name.
func (j *jobRun) find(ctx context.Context) ([]string, error) {
	var ids []string
	in := &emrserverless.ListJobRunsInput{ApplicationId: j.in.ApplicationId,
		States: slices.DeleteFunc(types.JobRunState("").Values(), ended)}
	for pages := emrserverless.NewListJobRunsPaginator(j.listJobRuns, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if aws.Code(err) == "ResourceNotFoundException" {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, r := range page.JobRuns {
			if deref(r.Name) == *j.in.Name && !ended(r.State) {
				ids = append(ids, *r.Id)
			}
		}
	}
	return ids, nil
}

// stop cancels the job after a kill, even if its start never got a response.
func (j *jobRun) stop(ctx context.Context) error {
	ids := []string{j.id}
	if j.id == "" {
		var err error
		if ids, err = j.find(ctx); err != nil {
			return j.call("list the job runs of application "+*j.in.ApplicationId, "emr-serverless:ListJobRuns").Failure(ctx, err)
		}
	}
	for _, id := range ids {
		_, err := j.cancelJobRun(ctx, &emrserverless.CancelJobRunInput{ApplicationId: j.in.ApplicationId, JobRunId: &id})
		if err != nil && aws.Code(err) != "ValidationException" { // it has ended
			return j.call("cancel job run "+id, "emr-serverless:CancelJobRun").Failure(ctx, err)
		}
	}
	j.clear(ctx, j.objects)
	return nil
}
