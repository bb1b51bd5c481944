package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
)

func (a *account) tables(ctx context.Context) (names []string, err error) {
	for p := dynamodb.NewListTablesPaginator(a.dynamodb, nil); p.HasMorePages(); {
		page, err := p.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		names = append(names, page.TableNames...)
	}
	return a.owned(names), nil
}

// removeTable also switches off the protection of a table that a second deploy has closed.
func (a *account) removeTable(ctx context.Context, name string) error {
	out, err := a.dynamodb.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	if err != nil {
		return err
	}
	if out.Table.TableStatus == dynamotypes.TableStatusDeleting {
		return nil
	}
	if aws.ToBool(out.Table.DeletionProtectionEnabled) {
		if _, err := a.dynamodb.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: &name, DeletionProtectionEnabled: aws.Bool(false)}); err != nil {
			return err
		}
	}
	_, err = a.dynamodb.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name})
	return err
}

func (a *account) buckets(ctx context.Context) (names []string, err error) {
	for p := s3.NewListBucketsPaginator(a.s3, &s3.ListBucketsInput{}); p.HasMorePages(); {
		page, err := p.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, b := range page.Buckets {
			names = append(names, aws.ToString(b.Name))
		}
	}
	return a.owned(names), nil
}

// removeBucket empties the bucket of every version and of uploads that never ended, and deletes it.
func (a *account) removeBucket(ctx context.Context, name string) error {
	for p := s3.NewListMultipartUploadsPaginator(a.s3, &s3.ListMultipartUploadsInput{Bucket: &name}); p.HasMorePages(); {
		page, err := p.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, u := range page.Uploads {
			if _, err := a.s3.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &name, Key: u.Key, UploadId: u.UploadId}); err != nil {
				return err
			}
		}
	}
	for p := s3.NewListObjectVersionsPaginator(a.s3, &s3.ListObjectVersionsInput{Bucket: &name}); p.HasMorePages(); {
		page, err := p.NextPage(ctx)
		if err != nil {
			return err
		}
		var ids []s3types.ObjectIdentifier
		for _, v := range page.Versions {
			ids = append(ids, s3types.ObjectIdentifier{Key: v.Key, VersionId: v.VersionId})
		}
		for _, m := range page.DeleteMarkers {
			ids = append(ids, s3types.ObjectIdentifier{Key: m.Key, VersionId: m.VersionId})
		}
		if len(ids) == 0 {
			continue
		}
		out, err := a.s3.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: &name, Delete: &s3types.Delete{Objects: ids, Quiet: aws.Bool(true)}})
		if err != nil {
			return err
		}
		if len(out.Errors) > 0 {
			return fmt.Errorf("%d objects cannot be deleted, the first is %s: %s", len(out.Errors), aws.ToString(out.Errors[0].Key), aws.ToString(out.Errors[0].Message))
		}
	}
	_, err := a.s3.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &name})
	return err
}

func (a *account) queues(ctx context.Context) (urls []string, err error) {
	for p := sqs.NewListQueuesPaginator(a.sqs, &sqs.ListQueuesInput{QueueNamePrefix: aws.String(a.prefix() + "-"), MaxResults: aws.Int32(1000)}); p.HasMorePages(); {
		page, err := p.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		urls = append(urls, page.QueueUrls...)
	}
	return urls, nil
}

func (a *account) removeQueue(ctx context.Context, url string) error {
	_, err := a.sqs.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: &url})
	return err
}

func (a *account) topics(ctx context.Context) (arns []string, err error) {
	for p := sns.NewListTopicsPaginator(a.sns, nil); p.HasMorePages(); {
		page, err := p.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, t := range page.Topics {
			if arn := aws.ToString(t.TopicArn); a.owns(last(arn, ":")) {
				arns = append(arns, arn)
			}
		}
	}
	return arns, nil
}

func (a *account) removeTopic(ctx context.Context, arn string) error {
	_, err := a.sns.DeleteTopic(ctx, &sns.DeleteTopicInput{TopicArn: &arn})
	return err
}

func (a *account) schedules(ctx context.Context) (names []string, err error) {
	for p := scheduler.NewListSchedulesPaginator(a.schedule, &scheduler.ListSchedulesInput{NamePrefix: aws.String(a.prefix() + "-")}); p.HasMorePages(); {
		page, err := p.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, s := range page.Schedules {
			names = append(names, aws.ToString(s.Name))
		}
	}
	return a.owned(names), nil
}

func (a *account) removeSchedule(ctx context.Context, name string) error {
	_, err := a.schedule.DeleteSchedule(ctx, &scheduler.DeleteScheduleInput{Name: &name})
	return err
}

func (a *account) cluster() string { return a.prefix() + "-commands" }

// machines are the tasks that are not stopped. ECS lists them as wanted, or as stopping until they are.
func (a *account) machines(ctx context.Context) (arns []string, err error) {
	for _, desired := range []ecstypes.DesiredStatus{ecstypes.DesiredStatusRunning, ecstypes.DesiredStatusStopped} {
		tasks, err := a.tasks(ctx, desired)
		if err != nil {
			return nil, err
		}
		for _, t := range tasks {
			if aws.ToString(t.LastStatus) != "STOPPED" {
				arns = append(arns, aws.ToString(t.TaskArn))
			}
		}
	}
	return arns, nil
}

func (a *account) tasks(ctx context.Context, desired ecstypes.DesiredStatus) (tasks []ecstypes.Task, err error) {
	cluster := a.cluster()
	for p := ecs.NewListTasksPaginator(a.ecs, &ecs.ListTasksInput{Cluster: &cluster, DesiredStatus: desired}); p.HasMorePages(); {
		page, err := p.NextPage(ctx)
		var missing *ecstypes.ClusterNotFoundException
		if errors.As(err, &missing) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if len(page.TaskArns) == 0 {
			continue
		}
		out, err := a.ecs.DescribeTasks(ctx, &ecs.DescribeTasksInput{Cluster: &cluster, Tasks: page.TaskArns})
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, out.Tasks...)
	}
	return tasks, nil
}

// clusters are those that are there: ECS lists a deleted one for a while, as inactive.
func (a *account) clusters(ctx context.Context) (names []string, err error) {
	for p := ecs.NewListClustersPaginator(a.ecs, nil); p.HasMorePages(); {
		page, err := p.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		if len(page.ClusterArns) == 0 {
			continue
		}
		out, err := a.ecs.DescribeClusters(ctx, &ecs.DescribeClustersInput{Clusters: page.ClusterArns})
		if err != nil {
			return nil, err
		}
		for _, c := range out.Clusters {
			if aws.ToString(c.Status) != "INACTIVE" {
				names = append(names, aws.ToString(c.ClusterName))
			}
		}
	}
	return a.owned(names), nil
}

// definitions are those that may still be used, and those that only wait to be deleted.
func (a *account) definitions(ctx context.Context) (arns []string, err error) {
	for _, status := range []ecstypes.TaskDefinitionStatus{ecstypes.TaskDefinitionStatusActive, ecstypes.TaskDefinitionStatusInactive} {
		for p := ecs.NewListTaskDefinitionsPaginator(a.ecs, &ecs.ListTaskDefinitionsInput{Status: status}); p.HasMorePages(); {
			page, err := p.NextPage(ctx)
			if err != nil {
				return nil, err
			}
			for _, arn := range page.TaskDefinitionArns {
				if a.owns(last(arn, "/")) {
					arns = append(arns, arn)
				}
			}
		}
	}
	return arns, nil
}

func (a *account) removeDefinition(ctx context.Context, arn string) error {
	if _, err := a.ecs.DeregisterTaskDefinition(ctx, &ecs.DeregisterTaskDefinitionInput{TaskDefinition: &arn}); err != nil && !strings.Contains(err.Error(), "INACTIVE") {
		return err
	}
	out, err := a.ecs.DeleteTaskDefinitions(ctx, &ecs.DeleteTaskDefinitionsInput{TaskDefinitions: []string{arn}})
	if err != nil {
		return err
	}
	for _, f := range out.Failures {
		return fmt.Errorf("%s: %s", aws.ToString(f.Reason), aws.ToString(f.Detail))
	}
	return nil
}

func (a *account) functions(ctx context.Context) (names []string, err error) {
	for p := lambda.NewListFunctionsPaginator(a.lambda, nil); p.HasMorePages(); {
		page, err := p.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, f := range page.Functions {
			names = append(names, aws.ToString(f.FunctionName))
		}
	}
	return a.owned(names), nil
}

func (a *account) mappings(ctx context.Context) (names []string, err error) {
	for p := lambda.NewListEventSourceMappingsPaginator(a.lambda, &lambda.ListEventSourceMappingsInput{}); p.HasMorePages(); {
		page, err := p.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, m := range page.EventSourceMappings {
			if _, function, _ := strings.Cut(aws.ToString(m.FunctionArn), ":function:"); a.owns(function) {
				names = append(names, aws.ToString(m.UUID)+" of "+function)
			}
		}
	}
	return names, nil
}

// rules are those of the default bus, and those of the stage's own, which keep it from being deleted.
func (a *account) rules(ctx context.Context) (names []string, err error) {
	buses, err := a.buses(ctx)
	if err != nil {
		return nil, err
	}
	for _, bus := range append(buses, "default") {
		in := &eventbridge.ListRulesInput{EventBusName: &bus}
		for {
			page, err := a.events.ListRules(ctx, in)
			if err != nil {
				return nil, err
			}
			for _, r := range page.Rules {
				if bus != "default" || a.owns(aws.ToString(r.Name)) {
					names = append(names, bus+" "+aws.ToString(r.Name))
				}
			}
			if in.NextToken = page.NextToken; in.NextToken == nil {
				break
			}
		}
	}
	return names, nil
}

func (a *account) removeRule(ctx context.Context, name string) error {
	bus, rule, _ := strings.Cut(name, " ")
	targets, err := a.events.ListTargetsByRule(ctx, &eventbridge.ListTargetsByRuleInput{Rule: &rule, EventBusName: &bus}) // five at most
	if err != nil {
		return err
	}
	var ids []string
	for _, t := range targets.Targets {
		ids = append(ids, aws.ToString(t.Id))
	}
	if len(ids) > 0 {
		if _, err := a.events.RemoveTargets(ctx, &eventbridge.RemoveTargetsInput{Rule: &rule, EventBusName: &bus, Ids: ids}); err != nil {
			return err
		}
	}
	_, err = a.events.DeleteRule(ctx, &eventbridge.DeleteRuleInput{Name: &rule, EventBusName: &bus})
	return err
}

func (a *account) buses(ctx context.Context) (names []string, err error) {
	in := &eventbridge.ListEventBusesInput{NamePrefix: aws.String(a.prefix())}
	for {
		page, err := a.events.ListEventBuses(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, b := range page.EventBuses {
			names = append(names, aws.ToString(b.Name))
		}
		if in.NextToken = page.NextToken; in.NextToken == nil {
			return a.owned(names), nil
		}
	}
}

// parameters are secrets, keys of machines, and the mark of the run.
func (a *account) parameters(ctx context.Context) (names []string, err error) {
	for _, folder := range []string{"/zerodag/" + a.stage, "/zerodag-keys/" + a.stage} {
		for p := ssm.NewGetParametersByPathPaginator(a.ssm, &ssm.GetParametersByPathInput{Path: &folder, Recursive: aws.Bool(true)}); p.HasMorePages(); {
			page, err := p.NextPage(ctx)
			if err != nil {
				return nil, err
			}
			for _, x := range page.Parameters {
				names = append(names, aws.ToString(x.Name))
			}
		}
	}
	return names, nil
}

func (a *account) removeParameter(ctx context.Context, name string) error {
	_, err := a.ssm.DeleteParameter(ctx, &ssm.DeleteParameterInput{Name: &name})
	return err
}

// mark is the parameter that says that a run has made the stage: nothing of another one is ever removed.
func (a *account) mark() string { return "/zerodag-keys/" + a.stage + "/run" }

// marked is nil when the stage is that of a run.
func (a *account) marked(ctx context.Context) error {
	name := a.mark()
	_, err := a.ssm.GetParameter(ctx, &ssm.GetParameterInput{Name: &name})
	var missing *ssmtypes.ParameterNotFound
	if errors.As(err, &missing) {
		return fmt.Errorf("nothing is removed: stage %s was not made by a run of this program (there is no parameter %s)", a.stage, name)
	}
	return err
}

func (a *account) setMark(ctx context.Context, text string) error {
	name := a.mark()
	_, err := a.ssm.PutParameter(ctx, &ssm.PutParameterInput{Name: &name, Value: &text, Type: ssmtypes.ParameterTypeString})
	return err
}

func (a *account) unmark(ctx context.Context) error { return a.removeParameter(ctx, a.mark()) }
