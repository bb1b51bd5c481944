package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"zerodag/internal/awscall"
)

// Tags of a run's resources: CloudFormation sets the first one, and the stack of a run the second.
const (
	stackTag = "aws:cloudformation:stack-name"
	runTag   = "zerodag-run"
)

// deleted is the status of a stack or of a stack's resource that no longer exists.
const deleted = "DELETE_COMPLETE"

// member is a stack or a stack's resource, as CloudFormation lists it.
type member struct {
	StackName      string
	StackID        string `xml:"StackId"`
	Status         string `xml:"StackStatus"`
	Why            string `xml:"StackStatusReason"`
	ID             string `xml:"PhysicalResourceId"`
	ResourceStatus string
}

// cloudFormation carries out an operation and returns every page of its response.
func (a *account) cloudFormation(ctx context.Context, operation string, form url.Values) ([]member, error) {
	form.Set("Action", operation)
	form.Set("Version", "2010-05-15")
	for list := []member(nil); ; {
		var page struct {
			Described []member `xml:"DescribeStacksResult>Stacks>member"`
			Listed    []member `xml:"ListStacksResult>StackSummaries>member"`
			Resources []member `xml:"ListStackResourcesResult>StackResourceSummaries>member"`
			Next      string   `xml:"ListStacksResult>NextToken"`
			NextOfIt  string   `xml:"ListStackResourcesResult>NextToken"`
		}
		if err := a.calls.Query(ctx, a.calls.Regional("cloudformation"), form, &page); err != nil {
			return nil, fmt.Errorf("%s: %w", operation, err)
		}
		list = slices.Concat(list, page.Described, page.Listed, page.Resources)
		if page.Next+page.NextOfIt == "" {
			return list, nil
		}
		form.Set("NextToken", page.Next+page.NextOfIt)
	}
}

// stack returns the stack of the stage; its status is DELETE_COMPLETE if there is none.
func (a *account) stack(ctx context.Context) (member, error) {
	list, err := a.cloudFormation(ctx, "DescribeStacks", url.Values{"StackName": {a.prefix()}})
	var no *awscall.Refusal
	switch {
	case errors.As(err, &no) && strings.Contains(no.Message, "does not exist"):
		return member{Status: deleted}, nil
	case err == nil && len(list) == 0:
		err = errors.New("CloudFormation returned no stack")
	}
	if err != nil {
		return member{}, err
	}
	return list[0], nil
}

func (a *account) stacks(ctx context.Context) ([]string, error) {
	s, err := a.stack(ctx)
	if err != nil || s.Status == deleted {
		return nil, err
	}
	return []string{s.StackName}, nil
}

// removeStack deletes the stack and waits for the end.
func (a *account) removeStack(ctx context.Context, name string) error {
	if _, err := a.cloudFormation(ctx, "DeleteStack", url.Values{"StackName": {name}}); err != nil {
		return err
	}
	for {
		s, err := a.stack(ctx)
		switch {
		case err != nil || s.Status == deleted:
			return err
		case s.Status == "DELETE_FAILED":
			return fmt.Errorf("CloudFormation reports %s", s.Why)
		}
		if err := a.wait(ctx); err != nil {
			return fmt.Errorf("its status is %s: %w", s.Status, err)
		}
	}
}

// deletions lists the deleted stacks of the stage, and the resources that CloudFormation deleted with them.
// CloudFormation remembers both for 90 days.
func (a *account) deletions(ctx context.Context) (ids []string, err error) {
	stacks, err := a.cloudFormation(ctx, "ListStacks", url.Values{"StackStatusFilter.member.1": {deleted}})
	if err != nil {
		return nil, err
	}
	for _, s := range stacks {
		if s.StackName != a.prefix() {
			continue
		}
		resources, err := a.cloudFormation(ctx, "ListStackResources", url.Values{"StackName": {s.StackID}})
		if err != nil {
			return nil, err
		}
		ids = append(ids, s.StackID)
		for _, r := range resources {
			if r.ResourceStatus == deleted && r.ID != "" {
				ids = append(ids, strings.ReplaceAll(r.ID, "|", "/")) // a rule is BUS|RULE here, and BUS/RULE in its ARN
			}
		}
	}
	return ids, nil
}

// listedByName returns the prefixes of ARNs that other lists cover, which show the current state.
func listedByName() []string {
	return []string{"cognito-idp:", "dynamodb:", "ecs:task-definition/", "events:rule/", "logs:", "s3:", "scheduler:", "sqs:", "ssm:"}
}

// tagged lists everything else with a tag of the run: resources that CloudFormation did not delete, and resources that
// tests made. Tags also show deleted resources for a while, so CloudFormation decides about its own resources.
func (a *account) tagged(ctx context.Context) (arns []string, err error) {
	type resource struct {
		ResourceARN string
		Tags        []struct{ Key, Value string }
	}
	for _, tag := range []struct{ Key, Value string }{{stackTag, a.prefix()}, {runTag, a.stage}} {
		in := map[string]any{"TagFilters": []any{map[string]any{"Key": tag.Key, "Values": []string{tag.Value}}}}
		list, err := pages[resource](ctx, a.calls, "tagging", "ResourceGroupsTaggingAPI_20170126.GetResources", "ResourceTagMappingList", "PaginationToken", in)
		if err != nil {
			return nil, err
		}
		for _, x := range list {
			parts := strings.SplitN(x.ResourceARN, ":", 6)
			ours := slices.Contains(x.Tags, tag) && len(parts) == 6
			if ours && !slices.ContainsFunc(listedByName(), func(begin string) bool { return strings.HasPrefix(parts[2]+":"+parts[5], begin) }) {
				arns = append(arns, x.ResourceARN)
			}
		}
	}
	if len(arns) == 0 {
		return nil, nil
	}
	ids, err := a.deletions(ctx)
	slices.Sort(arns)
	return slices.DeleteFunc(slices.Compact(arns), func(arn string) bool {
		return slices.ContainsFunc(ids, func(id string) bool {
			before, is := strings.CutSuffix(arn, id)
			return is && (before == "" || strings.HasSuffix(before, "/") || strings.HasSuffix(before, ":"))
		})
	}), err
}

// pages reads every page of a JSON list; token is the service's name for the position of the next page.
func pages[T any](ctx context.Context, c *awscall.Client, service, operation, list, token string, in map[string]any) (all []T, err error) {
	for {
		var page map[string]json.RawMessage
		if err := c.Call(ctx, c.Regional(service), operation, in, &page); err != nil {
			return nil, fmt.Errorf("%s: %w", operation, err)
		}
		var some []T
		next := ""
		for name, v := range map[string]any{list: &some, token: &next} {
			if page[name] == nil {
				continue
			}
			if err := json.Unmarshal(page[name], v); err != nil {
				return nil, fmt.Errorf("read the response of %s: %w", operation, err)
			}
		}
		if all = append(all, some...); next == "" {
			return all, nil
		}
		in[token] = next
	}
}
