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
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
)

// Resources that the template keeps when the stack is deleted, and resources that functions and services create outside
// it.

func (a *account) tables(ctx context.Context) ([]string, error) {
	return a.owned(all(ctx, dynamodb.NewListTablesPaginator(a.dynamodb, nil), func(p *dynamodb.ListTablesOutput) []string { return p.TableNames }))
}

// removeTable also disables the deletion protection that a second deploy has enabled.
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

func (a *account) buckets(ctx context.Context) ([]string, error) {
	return a.owned(all(ctx, s3.NewListBucketsPaginator(a.s3, &s3.ListBucketsInput{}), func(p *s3.ListBucketsOutput) []string {
		return each(p.Buckets, func(b s3types.Bucket) *string { return b.Name })
	}))
}

// removeBucket removes every version and unfinished upload from the bucket, and deletes it.
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
			return fmt.Errorf("could not delete %d objects, the first being %s: %s", len(out.Errors), aws.ToString(out.Errors[0].Key), aws.ToString(out.Errors[0].Message))
		}
	}
	_, err := a.s3.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &name})
	return err
}

// definitions returns the active task definitions, and inactive ones that wait for deletion.
func (a *account) definitions(ctx context.Context) (arns []string, err error) {
	for _, status := range []ecstypes.TaskDefinitionStatus{ecstypes.TaskDefinitionStatusActive, ecstypes.TaskDefinitionStatusInactive} {
		list, err := a.owned(all(ctx, ecs.NewListTaskDefinitionsPaginator(a.ecs, &ecs.ListTaskDefinitionsInput{Status: status}),
			func(p *ecs.ListTaskDefinitionsOutput) []string { return p.TaskDefinitionArns }))
		if err != nil {
			return nil, err
		}
		arns = append(arns, list...)
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

// logGroups returns the stack's log groups, and groups that a service creates when it logs after the stack is gone.
func (a *account) logGroups(ctx context.Context) (names []string, err error) {
	type group struct{ LogGroupName string }
	for _, prefix := range []string{"/zerodag/" + a.stage, "/aws/vendedlogs/zerodag/" + a.stage, "/aws/lambda/" + a.prefix(), "/aws/ecs/containerinsights/" + a.prefix()} {
		list, err := pages[group](ctx, a.calls, "logs", "Logs_20140328.DescribeLogGroups", "logGroups", "nextToken", map[string]any{"logGroupNamePrefix": prefix})
		if err != nil {
			return nil, err
		}
		names = append(names, each(list, func(g group) *string { return &g.LogGroupName })...)
	}
	return a.owned(names, nil)
}

func (a *account) removeLogGroup(ctx context.Context, name string) error {
	return a.calls.Call(ctx, a.calls.Regional("logs"), "Logs_20140328.DeleteLogGroup", map[string]any{"logGroupName": name}, nil)
}

// parameters returns the names of secrets, machine keys, and the run's mark.
func (a *account) parameters(ctx context.Context) (names []string, err error) {
	for _, folder := range []string{"/zerodag/" + a.stage, "/zerodag-keys/" + a.stage} {
		list, err := all(ctx, ssm.NewGetParametersByPathPaginator(a.ssm, &ssm.GetParametersByPathInput{Path: &folder, Recursive: aws.Bool(true)}),
			func(p *ssm.GetParametersByPathOutput) []string {
				return each(p.Parameters, func(x ssmtypes.Parameter) *string { return x.Name })
			})
		if err != nil {
			return nil, err
		}
		names = append(names, list...)
	}
	return names, nil
}

func (a *account) removeParameter(ctx context.Context, name string) error {
	_, err := a.ssm.DeleteParameter(ctx, &ssm.DeleteParameterInput{Name: &name})
	return err
}

// mark returns the name of the parameter that shows that a run has made the stage: nothing of a stage without it is
// ever removed.
func (a *account) mark() string { return "/zerodag-keys/" + a.stage + "/run" }

// marked returns nil if the stage belongs to a run.
func (a *account) marked(ctx context.Context) error {
	name := a.mark()
	_, err := a.ssm.GetParameter(ctx, &ssm.GetParameterInput{Name: &name})
	var missing *ssmtypes.ParameterNotFound
	if errors.As(err, &missing) {
		return fmt.Errorf("nothing was removed: this program did not create stage %s (there is no parameter %s)", a.stage, name)
	}
	return err
}

func (a *account) setMark(ctx context.Context, text string) error {
	name := a.mark()
	_, err := a.ssm.PutParameter(ctx, &ssm.PutParameterInput{Name: &name, Value: &text, Type: ssmtypes.ParameterTypeString})
	return err
}

// cognito carries out an operation on user pools.
func (a *account) cognito(ctx context.Context, operation string, in map[string]any, answer any) error {
	return a.calls.Call(ctx, a.calls.Regional("cognito-idp"), "AWSCognitoIdentityProviderService."+operation, in, answer)
}

// userPools returns the user pools by name; LocalStack has none.
func (a *account) userPools(ctx context.Context) ([]string, error) {
	if a.near {
		return nil, nil
	}
	type pool struct{ ID, Name string }
	list, err := pages[pool](ctx, a.calls, "cognito-idp", "AWSCognitoIdentityProviderService.ListUserPools", "UserPools", "NextToken", map[string]any{"MaxResults": 60})
	return a.owned(each(list, func(x pool) *string { return aws.String(x.Name + " " + x.ID) }), err)
}

// removeUserPool first removes what blocks the deletion of a pool: its protection, and the address of its pages.
func (a *account) removeUserPool(ctx context.Context, name string) error {
	id := last(name, " ")
	var pool struct{ UserPool struct{ Domain string } }
	err := a.cognito(ctx, "DescribeUserPool", map[string]any{"UserPoolId": id}, &pool)
	if domain := pool.UserPool.Domain; err == nil && domain != "" {
		err = a.cognito(ctx, "DeleteUserPoolDomain", map[string]any{"UserPoolId": id, "Domain": domain}, nil)
	}
	if err == nil {
		err = a.cognito(ctx, "UpdateUserPool", map[string]any{"UserPoolId": id, "DeletionProtection": "INACTIVE", "AutoVerifiedAttributes": []string{"email"}}, nil)
	}
	if err != nil {
		return err
	}
	return a.cognito(ctx, "DeleteUserPool", map[string]any{"UserPoolId": id}, nil)
}
