package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	deployed "zerodag/internal/account"
)

// kind is a sort of resource: how those of the stage are found, and how one is removed. What has no
// remove goes with the stack, and with nothing else, but for machines, which are stopped before it.
type kind struct {
	name   string
	list   func(*account, context.Context) ([]string, error)
	remove func(*account, context.Context, string) error
}

// kinds are in the order of their removal: the stack before what outlives it.
func kinds() []kind {
	return []kind{
		{"schedule", (*account).schedules, (*account).removeSchedule},
		{"Fargate task", (*account).machines, nil},
		{"stack", (*account).stacks, (*account).removeStack},
		{"task definition", (*account).definitions, (*account).removeDefinition},
		{"table", (*account).tables, (*account).removeTable},
		{"bucket", (*account).buckets, (*account).removeBucket},
		{"queue", (*account).queues, (*account).removeQueue},
		{"topic", (*account).topics, (*account).removeTopic},
		{"rule", (*account).rules, (*account).removeRule},
		{"event bus", (*account).buses, nil},
		{"event source mapping", (*account).mappings, nil},
		{"function", (*account).functions, nil},
		{"API", (*account).apis, nil},
		{"alarm", (*account).alarms, nil},
		{"dashboard", (*account).dashboards, nil},
		{"role", (*account).roles, nil},
		{"cluster", (*account).clusters, nil},
		{"network interface", (*account).interfaces, nil},
		{"VPC", (*account).vpcs, nil},
		{"security group", (*account).groups, nil},
		{"log group", (*account).logGroups, (*account).removeLogGroup},
		{"parameter", (*account).parameters, (*account).removeParameter},
		{"user pool", (*account).userPools, (*account).removeUserPool},
		{"secret", (*account).secrets, (*account).removeSecret},
		{"tagged", (*account).tagged, nil},
	}
}

// leftover is something of the stage that is there.
type leftover struct{ Kind, Name string }

func (l leftover) String() string { return l.Kind + " " + l.Name }

// leftovers is all that is there of the stage, but for the mark of the run. What cannot be asked is
// an error: then nobody knows.
func (a *account) leftovers(ctx context.Context) ([]leftover, error) {
	var all []leftover
	var failed []error
	for _, k := range kinds() {
		names, err := k.list(a, ctx)
		if err != nil {
			failed = append(failed, fmt.Errorf("look for each %s of stage %s: %w", k.name, a.stage, err))
		}
		for _, name := range names {
			if name != a.mark() {
				all = append(all, leftover{k.name, name})
			}
		}
	}
	slices.SortFunc(all, func(x, y leftover) int {
		return cmp.Or(strings.Compare(x.Kind, y.Kind), strings.Compare(x.Name, y.Name))
	})
	return all, errors.Join(failed...)
}

// rounds is how often removal goes over everything: what one round cannot remove because something
// else still needs it, the next one can.
const rounds = 3

// removeAll removes what is there of the stage, and returns what is left nevertheless, and why. It
// refuses a stage that no run has made. Machines are stopped first, since the stack cannot be deleted
// while they run, and the mark of the run, which allows all that, goes last.
func (a *account) removeAll(ctx context.Context, say func(string, ...any)) ([]leftover, error) {
	if err := a.marked(ctx); err != nil {
		return nil, err
	}
	var failed []error
	for range rounds {
		failed = nil
		stopped, err := deployed.New(a.config).Stop(ctx, a.stage)
		if err := errors.Join(err, stopped.Left); err != nil {
			failed = append(failed, err)
		}
		if n := stopped.Machines + stopped.Microvms; n > 0 {
			say("stopped %d machines", n)
		}
		for _, k := range kinds() {
			failed = append(failed, a.removeKind(ctx, k, say)...)
		}
		left, err := a.settle(ctx)
		if err != nil {
			return left, err
		}
		if len(left) == 0 {
			return nil, a.unmark(ctx)
		}
		if errors.Join(failed...) == nil { // nothing that is left can be removed
			return left, nil
		}
	}
	left, err := a.leftovers(ctx)
	return left, errors.Join(append(failed, err)...)
}

func (a *account) removeKind(ctx context.Context, k kind, say func(string, ...any)) (failed []error) {
	if k.remove == nil {
		return nil
	}
	names, err := k.list(a, ctx)
	if err != nil {
		return []error{err}
	}
	for _, name := range names {
		if name == a.mark() {
			continue
		}
		say("removes the %s %s", k.name, name)
		if err := k.remove(a, ctx, name); err != nil {
			failed = append(failed, fmt.Errorf("remove the %s %s: %w", k.name, name, err))
		}
	}
	return failed
}

// looks is how often it is looked again whether something is really left: lists of AWS show what was
// removed for a while, and queues for a minute.
const looks = 20

// settle looks for what is left until nothing is, or nothing changes any more.
func (a *account) settle(ctx context.Context) (left []leftover, err error) {
	for look := range looks {
		if left, err = a.leftovers(ctx); err != nil || len(left) == 0 || a.near && look > 2 {
			return left, err
		}
		if err := a.wait(ctx); err != nil {
			return left, err
		}
	}
	return left, nil
}

// owned keeps the names that are of the stage.
func (a *account) owned(names []string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return !a.owns(name) })
}

// last is the part of a name behind its last separator.
func last(name, separator string) string { return name[strings.LastIndex(name, separator)+1:] }
