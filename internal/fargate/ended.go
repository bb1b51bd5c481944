package fargate

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"zerodag/internal/border"
	"zerodag/internal/sandbox"
)

// maxDescribed is how many tasks ECS describes at a time.
const maxDescribed = 100

// Ended returns which machines have ended according to ECS, and why. If it cannot query some machines, it omits them
// and returns the others.
func (l *Launcher) Ended(ctx context.Context, runners []sandbox.Runner) (map[string]string, error) {
	over := map[string]string{}
	names := map[string]string{} // names of runners, by task
	var cutOff []string          // runners whose task was not recorded and is not running
	var failed error
	for _, r := range runners {
		if l.isForeign(r.Task) { // ECS would refuse the whole query that contains it
			over[r.Name()] = sandbox.Gone
			continue
		}
		if r.Task != "" {
			names[r.Task] = r.Name()
			continue
		}
		task, err := l.running(ctx, r)
		if err != nil {
			failed = errors.Join(failed, err)
		} else if task == "" {
			cutOff = append(cutOff, r.Name())
		}
	}
	failed = errors.Join(failed, l.describe(ctx, slices.Collect(maps.Keys(names)), func(t types.Task) {
		if name := names[aws.ToString(t.TaskArn)]; name != "" && aws.ToString(t.LastStatus) == stopped {
			over[name] = described(t).why()
		}
	}, func(task string) {
		if name := names[task]; name != "" {
			over[name] = sandbox.Gone
		}
	}))
	return over, errors.Join(failed, l.endedUnnoted(ctx, cutOff, over))
}

// isForeign reports whether a task belongs to another cluster, region or account: in that case, the store is a copy of
// a store there.
func (l *Launcher) isForeign(task string) bool {
	theirs, err := arn.Parse(task)
	if err != nil {
		return false
	}
	_, name, _ := strings.Cut(theirs.Resource, "/") // task/CLUSTER/ID
	name, _, _ = strings.Cut(name, "/")
	cluster, err := arn.Parse(l.Cluster)
	if err != nil {
		return name != l.Cluster || theirs.Region != l.client.Options().Region
	}
	_, ours, _ := strings.Cut(cluster.Resource, "/")
	return name != ours || theirs.Region != cluster.Region || theirs.AccountID != cluster.AccountID
}

// stopped is a task's final status.
const stopped = "STOPPED"

// describe queries tasks and passes on existing and unknown tasks.
func (l *Launcher) describe(ctx context.Context, tasks []string, there func(types.Task), missing func(task string)) error {
	for part := range slices.Chunk(tasks, maxDescribed) {
		out, err := l.client.DescribeTasks(ctx, &ecs.DescribeTasksInput{Cluster: &l.Cluster, Tasks: part})
		if err != nil {
			return border.Translate("describe machines", err, "ThrottlingException")
		}
		for _, t := range out.Tasks {
			there(t)
		}
		for _, f := range out.Failures {
			if aws.ToString(f.Reason) == "MISSING" {
				missing(aws.ToString(f.Arn))
			}
		}
	}
	return nil
}

// endedUnnoted adds runners that have ended to over. Their tasks were not recorded, and they have no machine that
// should run. A machine that is still stopping has not ended. The starter of a stopping task can only be found by
// reading all stopping tasks.
func (l *Launcher) endedUnnoted(ctx context.Context, names []string, over map[string]string) error {
	if len(names) == 0 {
		return nil
	}
	stops := map[string]bool{} // by runner
	pages := ecs.NewListTasksPaginator(l.client, &ecs.ListTasksInput{Cluster: &l.Cluster, DesiredStatus: types.DesiredStatusStopped})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return border.Translate("list stopping machines", err, "ThrottlingException")
		}
		err = l.describe(ctx, page.TaskArns, func(t types.Task) {
			name := aws.ToString(t.StartedBy)
			if !slices.Contains(names, name) {
				return
			}
			if stops[name] = true; aws.ToString(t.LastStatus) == stopped {
				over[name] = described(t).why()
			}
		}, func(string) {})
		if err != nil {
			return err
		}
	}
	for _, name := range names {
		if !stops[name] {
			over[name] = sandbox.Gone
		}
	}
	return nil
}

// taskOf returns a runner's task, even if its launch was interrupted before the task was recorded; "" if no task should
// run.
func (l *Launcher) taskOf(ctx context.Context, r sandbox.Runner) (string, error) {
	if r.Task != "" {
		return r.Task, nil
	}
	return l.running(ctx, r)
}

// running returns the task of a runner whose desired status is running; "" if there is none. ECS accepts no other
// filter together with a task's starter.
func (l *Launcher) running(ctx context.Context, r sandbox.Runner) (string, error) {
	out, err := l.client.ListTasks(ctx, &ecs.ListTasksInput{Cluster: &l.Cluster, StartedBy: aws.String(r.Name())})
	if err != nil {
		return "", border.Translate("look up the machine of "+r.Name(), err, "ThrottlingException")
	}
	if len(out.TaskArns) == 0 {
		return "", nil
	}
	return out.TaskArns[0], nil
}

// described converts a task to the form used in its events.
func described(t types.Task) detail {
	d := detail{StartedBy: aws.ToString(t.StartedBy), LastStatus: aws.ToString(t.LastStatus), StopCode: string(t.StopCode), StoppedReason: aws.ToString(t.StoppedReason)}
	for _, c := range t.Containers {
		x := container{Name: aws.ToString(c.Name), Reason: aws.ToString(c.Reason)}
		if c.ExitCode != nil {
			x.ExitCode = aws.Int(int(*c.ExitCode))
		}
		d.Containers = append(d.Containers, x)
	}
	return d
}
