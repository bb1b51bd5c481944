package main

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	eventtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	scheduletypes "github.com/aws/aws-sdk-go-v2/service/scheduler/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// Resources that tests create outside the stack, with names of the stage, and leave when they are interrupted.

func (a *account) schedules(ctx context.Context) ([]string, error) {
	return a.owned(all(ctx, scheduler.NewListSchedulesPaginator(a.schedule, &scheduler.ListSchedulesInput{NamePrefix: aws.String(a.prefix() + "-")}),
		func(p *scheduler.ListSchedulesOutput) []string {
			return each(p.Schedules, func(s scheduletypes.ScheduleSummary) *string { return s.Name })
		}))
}

func (a *account) removeSchedule(ctx context.Context, name string) error {
	_, err := a.schedule.DeleteSchedule(ctx, &scheduler.DeleteScheduleInput{Name: &name})
	return err
}

func (a *account) queues(ctx context.Context) ([]string, error) {
	return all(ctx, sqs.NewListQueuesPaginator(a.sqs, &sqs.ListQueuesInput{QueueNamePrefix: aws.String(a.prefix() + "-"), MaxResults: aws.Int32(1000)}),
		func(p *sqs.ListQueuesOutput) []string { return p.QueueUrls })
}

func (a *account) removeQueue(ctx context.Context, url string) error {
	_, err := a.sqs.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: &url})
	return err
}

// rules returns the rules of the default bus, and of the stage's own bus, which they keep from being deleted.
func (a *account) rules(ctx context.Context) (names []string, err error) {
	buses := []string{"default"}
	found, err := a.events.ListEventBuses(ctx, &eventbridge.ListEventBusesInput{NamePrefix: aws.String(a.prefix() + "-")}) // one
	if err != nil {
		return nil, err
	}
	for _, bus := range append(buses, each(found.EventBuses, func(b eventtypes.EventBus) *string { return b.Name })...) {
		for in := (&eventbridge.ListRulesInput{EventBusName: &bus}); ; {
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
	targets, err := a.events.ListTargetsByRule(ctx, &eventbridge.ListTargetsByRuleInput{Rule: &rule, EventBusName: &bus}) // at most five
	if err != nil {
		return err
	}
	if ids := each(targets.Targets, func(t eventtypes.Target) *string { return t.Id }); len(ids) > 0 {
		if _, err := a.events.RemoveTargets(ctx, &eventbridge.RemoveTargetsInput{Rule: &rule, EventBusName: &bus, Ids: ids}); err != nil {
			return err
		}
	}
	_, err = a.events.DeleteRule(ctx, &eventbridge.DeleteRuleInput{Name: &rule, EventBusName: &bus})
	return err
}
