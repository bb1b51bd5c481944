package emr

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/emr"
	"github.com/aws/aws-sdk-go-v2/service/emr/types"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/aws"
)

// stepsWork is work that consists of steps on a cluster.
type stepsWork struct {
	*stage
	calls
	objects  *s3.Client
	steps    []types.StepConfig
	programs []*program
	existing string               // existing cluster, "" for a new one
	fresh    *emr.RunJobFlowInput // the new one, nil for none

	cluster string // the cluster that has the steps, "" before the start
	last    string // id of the last step, "" while unknown
	looks   int64
}

// calls holds the EMR operations that tasks need.
type calls struct {
	listSteps                stepsOf
	listClusters             clustersOf
	describeStep             aws.Operation[emr.DescribeStepInput, emr.DescribeStepOutput, emr.Options]
	describeCluster          aws.Operation[emr.DescribeClusterInput, emr.DescribeClusterOutput, emr.Options]
	runJobFlow               aws.Operation[emr.RunJobFlowInput, emr.RunJobFlowOutput, emr.Options]
	addJobFlowSteps          aws.Operation[emr.AddJobFlowStepsInput, emr.AddJobFlowStepsOutput, emr.Options]
	cancelSteps              aws.Operation[emr.CancelStepsInput, emr.CancelStepsOutput, emr.Options]
	setTerminationProtection aws.Operation[emr.SetTerminationProtectionInput, emr.SetTerminationProtectionOutput, emr.Options]
	terminateJobFlows        aws.Operation[emr.TerminateJobFlowsInput, emr.TerminateJobFlowsOutput, emr.Options]
}

func openSteps(ctx context.Context, account *aws.Account, from source) (*stepsWork, error) {
	s, err := newStage(from)
	if err != nil {
		return nil, err
	}
	w := &stepsWork{stage: s}
	if w.steps, w.programs, err = readSteps(s); err != nil {
		return nil, err
	}
	if err := w.readCluster(); err != nil {
		return nil, err
	}
	if err := w.remember(); err != nil {
		return nil, err
	}
	return w, w.connect(ctx, account)
}

func (w *stepsWork) readCluster() error {
	v, ok := w.params.Get("cluster")
	if text, isText := v.(string); ok && isText && !strings.HasPrefix(strings.TrimSpace(text), "{") {
		w.existing = text
		return nil
	}
	m, err := operators.Read(w.params, "cluster", param.ParseMap)
	if err != nil {
		return err
	}
	in, programs, err := readCluster(w.stage, m)
	w.fresh, w.programs = in, append(programs, w.programs...)
	return err
}

func (w *stepsWork) remember() error {
	job := aws.Job(w.task)
	var err error
	if w.cluster, err = job.StringOr("cluster", ""); err != nil {
		return err
	}
	if w.last, err = job.StringOr("step", ""); err != nil {
		return err
	}
	w.looks, err = job.IntOr("looks", 0)
	return err
}

func (w *stepsWork) connect(ctx context.Context, account *aws.Account) error {
	c, _, err := w.config(ctx, account, "emr")
	if err != nil {
		return err
	}
	client := emr.NewFromConfig(c)
	w.calls = calls{listSteps: client.ListSteps, listClusters: client.ListClusters, describeStep: client.DescribeStep,
		describeCluster: client.DescribeCluster, runJobFlow: client.RunJobFlow, addJobFlowSteps: client.AddJobFlowSteps,
		cancelSteps: client.CancelSteps, setTerminationProtection: client.SetTerminationProtection, terminateJobFlows: client.TerminateJobFlows}
	c, own, err := w.config(ctx, account, "s3")
	if err != nil {
		return err
	}
	w.objects = s3.NewFromConfig(c, func(o *s3.Options) { o.UsePathStyle = own })
	if !w.seals {
		return nil
	}
	if w.key, err = w.task.RequireSecret("aws.emr.kms_key_id"); err != nil {
		return err
	}
	if c, _, err = w.config(ctx, account, "kms"); err != nil {
		return err
	}
	w.encrypt = kms.NewFromConfig(c).Encrypt
	return nil
}

func (w *stepsWork) call(doing, needs string) aws.Call {
	return aws.Call{Operator: "emr", Doing: doing, Needs: needs}
}

func (w *stepsWork) again(after time.Duration) error {
	return aws.Again(w.task, after, param.New("cluster", w.cluster, "step", w.last, "looks", w.looks))
}

// look requests another run; each phase begins with short waits.
func (w *stepsWork) look(shortest time.Duration) error {
	w.looks++
	return w.again(aws.Backoff(w.looks-1, shortest, longestWait))
}

func (w *stepsWork) run(ctx context.Context) (operators.Result, error) {
	switch {
	case w.cluster == "":
		return operators.Result{}, w.start(ctx)
	case w.last == "":
		return operators.Result{}, w.await(ctx)
	}
	if w.fresh == nil && w.looks == 1 {
		w.keepFirst(ctx)
	}
	out, err := w.describeStep(ctx, &emr.DescribeStepInput{ClusterId: &w.cluster, StepId: &w.last})
	if err != nil {
		return operators.Result{}, w.lookFailed(ctx, err, shortestWait, "elasticmapreduce:DescribeStep")
	}
	switch out.Step.Status.State {
	case types.StepStatePending, types.StepStateRunning:
		return operators.Result{}, w.look(shortestWait)
	case types.StepStateCompleted:
		w.clear(ctx, w.objects)
		return w.result(), nil
	}
	return operators.Result{}, w.failure(ctx)
}

func (w *stepsWork) lookFailed(ctx context.Context, err error, shortest time.Duration, needs string) error {
	if ctx.Err() == nil && aws.Temporary(err) {
		return w.look(shortest)
	}
	return w.call("look up cluster "+w.cluster, needs).Failure(ctx, err)
}

func (w *stepsWork) result() operators.Result {
	if w.fresh == nil {
		return operators.Result{}
	}
	return operators.Result{Store: param.New("emr", param.New("last_cluster_id", w.cluster)), ResetStore: [][]string{{"emr", "last_cluster_id"}}}
}

// start starts the cluster or the steps, unless an earlier run did so and its response or state was lost: it finds them
// by the tag in their names.
func (w *stepsWork) start(ctx context.Context) error {
	if w.fresh == nil {
		return w.addSteps(ctx)
	}
	list, err := w.clusters(ctx)
	if err != nil {
		return unanswered(ctx, w.task, err, w.call("list clusters", "elasticmapreduce:ListClusters"))
	}
	if len(list) > 0 {
		return w.started(list[0])
	}
	if err := w.prepare(ctx); err != nil {
		return err
	}
	w.fresh.Steps = w.steps
	out, err := w.runJobFlow(ctx, w.fresh, func(o *emr.Options) { o.Retryer = onlyRefused() })
	if err != nil {
		return unanswered(ctx, w.task, err, w.call("start a cluster", "elasticmapreduce:RunJobFlow, and iam:PassRole on its roles"))
	}
	return w.started(*out.JobFlowId)
}

func (w *stepsWork) started(cluster string) error {
	w.cluster = cluster
	w.task.Log.Line(operators.Info, "EmrOperator", "Started cluster "+cluster+" as "+*w.fresh.Name)
	return w.look(shortestBoot)
}

// prepare uploads the files that the steps need to S3.
func (w *stepsWork) prepare(ctx context.Context) error {
	for _, p := range w.programs {
		if err := w.seal(ctx, p.config); err != nil {
			return err
		}
		w.uploads[p.at].content = param.AppendJSON(nil, p.config)
	}
	return w.send(ctx, w.objects)
}

func (w *stepsWork) addSteps(ctx context.Context) error {
	w.cluster = w.existing
	ids, err := w.stepIDs(ctx)
	if err != nil {
		return unanswered(ctx, w.task, err, w.call("list the steps of cluster "+w.existing, "elasticmapreduce:ListSteps"))
	}
	if len(ids) == 0 {
		if err := w.prepare(ctx); err != nil {
			return err
		}
		out, err := w.addJobFlowSteps(ctx, &emr.AddJobFlowStepsInput{JobFlowId: &w.existing, Steps: w.steps}, func(o *emr.Options) { o.Retryer = onlyRefused() })
		if err != nil {
			return unanswered(ctx, w.task, err, w.call("add steps to cluster "+w.existing, "elasticmapreduce:AddJobFlowSteps"))
		}
		ids = out.StepIds
	}
	w.last = ids[len(ids)-1]
	w.task.Log.Line(operators.Info, "EmrOperator", "Added steps "+strings.Join(ids, ", ")+" to cluster "+w.existing)
	return w.look(shortestWait)
}

// await waits until a new cluster runs its steps, or has finished them.
func (w *stepsWork) await(ctx context.Context) error {
	if w.looks == 1 {
		w.keepOne(ctx)
	}
	out, err := w.describeCluster(ctx, &emr.DescribeClusterInput{ClusterId: &w.cluster})
	if err != nil {
		return w.lookFailed(ctx, err, shortestBoot, "elasticmapreduce:DescribeCluster")
	}
	status := out.Cluster.Status
	if status.State == types.ClusterStateStarting || status.State == types.ClusterStateBootstrapping {
		return w.look(shortestBoot)
	}
	ids, err := w.stepIDs(ctx)
	switch {
	case err != nil:
		return w.lookFailed(ctx, err, shortestBoot, "elasticmapreduce:ListSteps")
	case len(ids) < len(w.steps):
		return operators.Failf("emr>: cluster %s has %d of the %d steps: it is %s%s", w.cluster, len(ids), len(w.steps), status.State, because(status.StateChangeReason))
	}
	w.last, w.looks = ids[len(ids)-1], 0
	return w.look(shortestWait)
}

func because(r *types.ClusterStateChangeReason) string {
	if r == nil || deref(r.Message) == "" {
		return ""
	}
	return ": " + *r.Message
}

// failure logs how each step ended, and returns the reason as an error.
func (w *stepsWork) failure(ctx context.Context) error {
	list, err := w.listedSteps(ctx)
	if err != nil {
		return w.lookFailed(ctx, err, shortestWait, "elasticmapreduce:ListSteps")
	}
	why := ""
	for _, s := range list {
		line := fmt.Sprintf("Step %s %s: %s", *s.Id, deref(s.Name), s.Status.State)
		details := details(s.Status)
		if details != "" {
			line += ": " + details
		}
		w.task.Log.Line(operators.Error, "EmrOperator", line)
		if why == "" && s.Status.State != types.StepStateCompleted && s.Status.State != types.StepStateCancelled {
			why = fmt.Sprintf(": step %s %s is %s", *s.Id, deref(s.Name), s.Status.State)
			if details != "" {
				why += ": " + details
			}
		}
	}
	if why == "" {
		why = ": its steps were canceled"
		if out, err := w.describeCluster(ctx, &emr.DescribeClusterInput{ClusterId: &w.cluster}); err == nil {
			why += because(out.Cluster.Status.StateChangeReason)
		}
	}
	w.clear(ctx, w.objects)
	return operators.Failf("EMR job failed%s (cluster %s)", why, w.cluster)
}

func details(s *types.StepStatus) string {
	var list []string
	if f := s.FailureDetails; f != nil {
		for _, text := range []*string{f.Reason, f.Message, f.LogFile} {
			if deref(text) != "" {
				list = append(list, *text)
			}
		}
	}
	if r := s.StateChangeReason; len(list) == 0 && r != nil && deref(r.Message) != "" {
		list = append(list, *r.Message)
	}
	return strings.Join(list, ", ")
}
