package fargate

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"zerodag/internal/border"
	"zerodag/internal/sandbox"
)

// maxDescribed is how many tasks ECS describes at a time.
const maxDescribed = 100

// forgotten is said about a task that ECS does not know: it knows one for an hour after its end.
const forgotten = "its machine is gone"

// Ended says which machines have ended, as ECS has it, and why.
func (l *Launcher) Ended(ctx context.Context, runners []sandbox.Runner) (map[string]string, error) {
	over := map[string]string{}
	names := map[string]string{} // of runners, by task
	for _, r := range runners {
		task, err := l.taskOf(ctx, r)
		if err != nil {
			return over, err
		}
		if task == "" {
			over[r.Name()] = forgotten
			continue
		}
		names[task] = r.Name()
	}
	var tasks []string
	for task := range names {
		tasks = append(tasks, task)
	}
	for part := range slices.Chunk(tasks, maxDescribed) {
		out, err := l.client.DescribeTasks(ctx, &ecs.DescribeTasksInput{Cluster: &l.Cluster, Tasks: part})
		if err != nil {
			return over, border.Translate("look at machines", err, "ThrottlingException")
		}
		for _, t := range out.Tasks {
			if aws.ToString(t.LastStatus) == "STOPPED" {
				over[names[aws.ToString(t.TaskArn)]] = described(t).why()
			}
		}
		for _, f := range out.Failures {
			if aws.ToString(f.Reason) == "MISSING" {
				over[names[aws.ToString(f.Arn)]] = forgotten
			}
		}
	}
	delete(over, "") // a task that nobody has asked for
	return over, nil
}

// taskOf is the task of a runner, also of one whose launch was cut off before that was noted;
// "" when there is none that ECS knows.
func (l *Launcher) taskOf(ctx context.Context, r sandbox.Runner) (string, error) {
	if r.Task != "" {
		return r.Task, nil
	}
	for _, status := range []types.DesiredStatus{types.DesiredStatusRunning, types.DesiredStatusStopped} {
		out, err := l.client.ListTasks(ctx, &ecs.ListTasksInput{Cluster: &l.Cluster, StartedBy: aws.String(r.Name()), DesiredStatus: status})
		if err != nil {
			return "", border.Translate("look for the machine of "+r.Name(), err, "ThrottlingException")
		}
		if len(out.TaskArns) > 0 {
			return out.TaskArns[0], nil
		}
	}
	return "", nil
}

// described is a task in the form of its event.
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
