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

// kind is a kind of resource: how to list the stage's resources of this kind, and how to remove one, if possible.
type kind struct {
	name   string
	list   func(*account, context.Context) ([]string, error)
	remove func(*account, context.Context, string) error
}

// kinds returns the kinds in the order of their removal: leftovers of interrupted tests, which may prevent the deletion
// of the stack; the stack; and resources that outlive it. CloudFormation deletes everything else, and tags show the
// resources that it missed.
func kinds() []kind {
	return []kind{
		{"schedule", (*account).schedules, (*account).removeSchedule},
		{"rule", (*account).rules, (*account).removeRule},
		{"stack", (*account).stacks, (*account).removeStack},
		{"queue", (*account).queues, (*account).removeQueue},
		{"task definition", (*account).definitions, (*account).removeDefinition},
		{"table", (*account).tables, (*account).removeTable},
		{"bucket", (*account).buckets, (*account).removeBucket},
		{"log group", (*account).logGroups, (*account).removeLogGroup},
		{"parameter", (*account).parameters, (*account).removeParameter},
		{"user pool", (*account).userPools, (*account).removeUserPool},
		{"tagged", (*account).tagged, nil},
	}
}

// leftover is a resource of the stage that exists.
type leftover struct{ Kind, Name string }

func (l leftover) String() string { return l.Kind + " " + l.Name }

// leftovers lists the resources of the stage, except the mark of the run. A kind that cannot be listed causes an error,
// because such a resource may exist.
func (a *account) leftovers(ctx context.Context) ([]leftover, error) {
	var all []leftover
	var failed []error
	for _, k := range kinds() {
		names, err := k.list(a, ctx)
		if err != nil {
			failed = append(failed, fmt.Errorf("list every %s of stage %s: %w", k.name, a.stage, err))
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

// rounds is how many times everything is removed: a round can remove resources that the previous one could not because
// others still needed them. A network interface of a machine may need an hour, but usually needs a minute.
const rounds = 3

// removeAll removes the resources of the stage, and returns the leftovers and the reasons. It refuses a stage that no
// run has made. It stops machines first, because the stack cannot be deleted while they run, and removes the mark of
// the run last, because the mark allows the removal.
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
			return nil, a.removeParameter(ctx, a.mark())
		}
		if errors.Join(failed...) == nil { // none of the leftovers can be removed
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
		say("removing the %s %s", k.name, name)
		if err := k.remove(a, ctx, name); err != nil {
			failed = append(failed, fmt.Errorf("remove the %s %s: %w", k.name, name, err))
		}
	}
	return failed
}

// looks is how many times to check whether resources are really left: AWS lists removed resources for a while, and
// queues for a minute.
const looks = 20

// settle lists leftovers until there are none or the list no longer changes.
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

// pager is a paginator of the SDK.
type pager[Page, Options any] interface {
	HasMorePages() bool
	NextPage(context.Context, ...func(*Options)) (*Page, error)
}

// all reads every page of a list.
func all[Page, Options any](ctx context.Context, p pager[Page, Options], names func(*Page) []string) (list []string, err error) {
	for p.HasMorePages() {
		page, err := p.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		list = append(list, names(page)...)
	}
	return list, nil
}

// each returns the name of every element.
func each[T any](list []T, name func(T) *string) (names []string) {
	for _, x := range list {
		if n := name(x); n != nil {
			names = append(names, *n)
		}
	}
	return names
}

// owned keeps only the names of the stage, and passes an error on.
func (a *account) owned(names []string, err error) ([]string, error) {
	return slices.DeleteFunc(names, func(name string) bool { return !a.owns(last(name, ":")) && !a.owns(last(name, "/")) && !a.owns(name) }), err
}

// last returns the part of a name after its last separator.
func last(name, separator string) string { return name[strings.LastIndex(name, separator)+1:] }
