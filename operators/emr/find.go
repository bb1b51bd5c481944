package emr

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/emr"
	"github.com/aws/aws-sdk-go-v2/service/emr/types"

	"zerodag/operators"
	"zerodag/operators/aws"
)

// ours reports whether a name has the tag of this try.
func (w *stepsWork) ours(name *string) bool { return strings.HasSuffix(deref(name), "("+w.tag+")") }

// stepsOf adapts the operation to the SDK's paginator.
type stepsOf aws.Operation[emr.ListStepsInput, emr.ListStepsOutput, emr.Options]

func (call stepsOf) ListSteps(ctx context.Context, in *emr.ListStepsInput, options ...func(*emr.Options)) (*emr.ListStepsOutput, error) {
	return call(ctx, in, options...)
}

// clustersOf is like stepsOf.
type clustersOf aws.Operation[emr.ListClustersInput, emr.ListClustersOutput, emr.Options]

func (call clustersOf) ListClusters(ctx context.Context, in *emr.ListClustersInput, options ...func(*emr.Options)) (*emr.ListClustersOutput, error) {
	return call(ctx, in, options...)
}

// listedSteps returns the steps of this try in the order of their submission; EMR lists the latest first. Steps of a
// second submission are excluded.
func (w *stepsWork) listedSteps(ctx context.Context) ([]types.StepSummary, error) {
	var list []types.StepSummary
	for pages := emr.NewListStepsPaginator(w.listSteps, &emr.ListStepsInput{ClusterId: &w.cluster}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, s := range page.Steps {
			if w.ours(s.Name) {
				list = append(list, s)
			}
		}
	}
	slices.Reverse(list)
	return list, nil
}

func (w *stepsWork) stepIDs(ctx context.Context) ([]string, error) {
	list, err := w.listedSteps(ctx)
	ids := make([]string, 0, len(list))
	for _, s := range list[:min(len(list), len(w.steps))] {
		ids = append(ids, *s.Id)
	}
	return ids, err
}

// clusters returns the clusters of this try, existing or ended, earliest first.
func (w *stepsWork) clusters(ctx context.Context) ([]string, error) {
	since := w.task.StartedAt
	if since.IsZero() {
		since = w.task.Now
	}
	since = since.Add(-time.Hour) // clocks differ
	var list []types.ClusterSummary
	for pages := emr.NewListClustersPaginator(w.listClusters, &emr.ListClustersInput{CreatedAfter: &since}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, c := range page.Clusters {
			if w.ours(c.Name) {
				list = append(list, c)
			}
		}
	}
	slices.SortFunc(list, func(a, b types.ClusterSummary) int {
		if n := created(a).Compare(created(b)); n != 0 {
			return n
		}
		return strings.Compare(deref(a.Id), deref(b.Id))
	})
	ids := make([]string, len(list))
	for i, c := range list {
		ids[i] = *c.Id
	}
	return ids, nil
}

func created(c types.ClusterSummary) time.Time {
	if c.Status == nil || c.Status.Timeline == nil {
		return time.Time{}
	}
	return deref(c.Status.Timeline.CreationDateTime)
}

// keepOne ends all clusters of this try but the first, in case two concurrent runs found none and started one each. It
// is a precaution, which may fail.
func (w *stepsWork) keepOne(ctx context.Context) {
	ids, err := w.clusters(ctx)
	if err != nil || len(ids) < 2 {
		return
	}
	w.cluster = ids[0]
	if _, err := w.terminateJobFlows(ctx, &emr.TerminateJobFlowsInput{JobFlowIds: ids[1:]}); err != nil {
		w.task.Log.Line(operators.Error, "EmrOperator", fmt.Sprintf("Can't terminate the duplicate clusters %v: %v", ids[1:], err))
	}
}

// keepFirst is keepOne for steps on a cluster that does not belong to the task.
func (w *stepsWork) keepFirst(ctx context.Context) {
	list, err := w.listedSteps(ctx)
	if err != nil || len(list) <= len(w.steps) {
		return
	}
	w.last = *list[len(w.steps)-1].Id
	if err := w.cancel(ctx, list[len(w.steps):]); err != nil {
		w.task.Log.Line(operators.Error, "EmrOperator", "The steps were added twice: "+err.Error())
	}
}
