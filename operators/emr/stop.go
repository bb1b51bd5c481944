package emr

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/emr"
	"github.com/aws/aws-sdk-go-v2/service/emr/types"
)

// stop ends a cluster that was started for the task, or the steps that it added.
func (w *stepsWork) stop(ctx context.Context) error {
	var failed error
	if w.fresh != nil {
		failed = w.stopCluster(ctx)
	} else {
		failed = w.cancelUnfinished(ctx)
	}
	if failed == nil {
		w.clear(ctx, w.objects)
	}
	return failed
}

func (w *stepsWork) stopCluster(ctx context.Context) error {
	ids, err := w.clusters(ctx)
	if err != nil && w.cluster == "" {
		return w.call("list clusters", "elasticmapreduce:ListClusters").Failure(ctx, err)
	}
	if w.cluster != "" && !slices.Contains(ids, w.cluster) {
		ids = append(ids, w.cluster)
	}
	if len(ids) == 0 {
		return nil
	}
	if deref(w.fresh.Instances.TerminationProtected) {
		_, err := w.setTerminationProtection(ctx, &emr.SetTerminationProtectionInput{JobFlowIds: ids, TerminationProtected: new(false)})
		if err != nil {
			return w.call("remove the termination protection of cluster "+strings.Join(ids, ", "), "elasticmapreduce:SetTerminationProtection").Failure(ctx, err)
		}
	}
	if _, err := w.terminateJobFlows(ctx, &emr.TerminateJobFlowsInput{JobFlowIds: ids}); err != nil {
		return w.call("terminate cluster "+strings.Join(ids, ", "), "elasticmapreduce:TerminateJobFlows").Failure(ctx, err)
	}
	return nil
}

func (w *stepsWork) cancelUnfinished(ctx context.Context) error {
	w.cluster = w.existing
	list, err := w.listedSteps(ctx)
	var failed []error
	if err != nil {
		failed = append(failed, w.call("list the steps of cluster "+w.cluster, "elasticmapreduce:ListSteps").Failure(ctx, err))
	}
	if err := w.cancel(ctx, list); err != nil {
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// cancel ends the steps that have not ended.
func (w *stepsWork) cancel(ctx context.Context, list []types.StepSummary) error {
	var ids []string
	for _, s := range list {
		if s.Status.State == types.StepStatePending || s.Status.State == types.StepStateRunning {
			ids = append(ids, *s.Id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	_, err := w.cancelSteps(ctx, &emr.CancelStepsInput{ClusterId: &w.cluster, StepIds: ids, StepCancellationOption: types.StepCancellationOptionTerminateProcess})
	if err != nil {
		return w.call("cancel the steps "+strings.Join(ids, ", "), "elasticmapreduce:CancelSteps").Failure(ctx, err)
	}
	return nil
}
