package main

import (
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/jsii-runtime-go"
)

func minutes(n int) awscdk.Duration { return awscdk.Duration_Minutes(jsii.Number(n)) }

// When messages have waited so long that an operator should look (seconds).
const (
	oldEvent = 300
	oldTask  = 1800
)

// createAlarms tells the topic what a person must look at.
func (z *stack) createAlarms() {
	for name, q := range map[string]queue{"Events": z.events, "Tasks": z.tasks} {
		z.alarm(name+"Dead", "Messages that nobody could handle lie in the dead-letter queue: zerodag admin redrive",
			q.dead.MetricApproximateNumberOfMessagesVisible(&awscloudwatch.MetricOptions{Period: minutes(5), Statistic: jsii.String("Maximum")}), 1)
	}
	z.alarm("EventsOld", "Events of attempts wait for minutes: executors fail or are throttled",
		z.events.live.MetricApproximateAgeOfOldestMessage(&awscloudwatch.MetricOptions{Period: minutes(5), Statistic: jsii.String("Maximum")}), oldEvent)
	z.alarm("TasksOld", "Tasks wait for half an hour: there are more than agents can do, or agents fail",
		z.tasks.live.MetricApproximateAgeOfOldestMessage(&awscloudwatch.MetricOptions{Period: minutes(5), Statistic: jsii.String("Maximum")}), oldTask)
	z.silent("TickSilent", "The tick was not called for ten minutes: no schedule fires", z.functions["tick"].MetricInvocations(&awscloudwatch.MetricOptions{Period: minutes(10)}))
	for _, f := range functions() {
		z.alarm(strings.ToUpper(f.name[:1])+f.name[1:]+"Errors", "The function "+f.name+" fails: see its log",
			z.functions[f.name].MetricErrors(&awscloudwatch.MetricOptions{Period: minutes(5)}), 5)
	}
}

// alarm is raised when a metric reaches a threshold.
func (z *stack) alarm(id, what string, metric awscloudwatch.Metric, threshold float64) {
	z.raise(id, what, awscloudwatch.AlarmProps{Metric: metric, Threshold: jsii.Number(threshold),
		ComparisonOperator: awscloudwatch.ComparisonOperator_GREATER_THAN_OR_EQUAL_TO_THRESHOLD, TreatMissingData: awscloudwatch.TreatMissingData_NOT_BREACHING})
}

// silent is raised when what a metric counts does not happen.
func (z *stack) silent(id, what string, metric awscloudwatch.Metric) {
	z.raise(id, what, awscloudwatch.AlarmProps{Metric: metric, Threshold: jsii.Number(1),
		ComparisonOperator: awscloudwatch.ComparisonOperator_LESS_THAN_THRESHOLD, TreatMissingData: awscloudwatch.TreatMissingData_BREACHING})
}

func (z *stack) raise(id, what string, p awscloudwatch.AlarmProps) {
	p.AlarmName, p.AlarmDescription, p.EvaluationPeriods = z.name(id), jsii.String(what), jsii.Number(1)
	awscloudwatch.NewAlarm(z.Stack, jsii.String(id+"Alarm"), &p).AddAlarmAction(awscloudwatchactions.NewSnsAction(z.topic))
}

// createDashboard shows the queues and functions on one page.
func (z *stack) createDashboard() {
	graph := func(title string, metrics ...awscloudwatch.IMetric) awscloudwatch.IWidget {
		return awscloudwatch.NewGraphWidget(&awscloudwatch.GraphWidgetProps{Title: jsii.String(title), Width: jsii.Number(12), Left: &metrics})
	}
	var runs, errors, times []awscloudwatch.IMetric
	for _, f := range functions() {
		fn := z.functions[f.name]
		runs = append(runs, fn.MetricInvocations(nil))
		errors = append(errors, fn.MetricErrors(nil))
		times = append(times, fn.MetricDuration(nil))
	}
	own := func(name string) awscloudwatch.IMetric { // what functions write in their logs
		return awscloudwatch.NewMetric(&awscloudwatch.MetricProps{Namespace: jsii.String("zerodag"), MetricName: jsii.String(name), Statistic: jsii.String("Sum"),
			DimensionsMap: &map[string]*string{"stage": jsii.String(z.Stage)}})
	}
	awscloudwatch.NewDashboard(z.Stack, jsii.String("Dashboard"), &awscloudwatch.DashboardProps{DashboardName: z.name("overview"),
		Widgets: &[]*[]awscloudwatch.IWidget{
			{graph("Attempts", own("AttemptsStarted"), own("AttemptsFinished"), own("AttemptsFailed")), graph("Tasks and schedules", own("TasksRun"), own("SchedulesFired"), own("Errors"))},
			{graph("Messages waiting", z.events.live.MetricApproximateNumberOfMessagesVisible(nil), z.tasks.live.MetricApproximateNumberOfMessagesVisible(nil)),
				graph("Age of the oldest message", z.events.live.MetricApproximateAgeOfOldestMessage(nil), z.tasks.live.MetricApproximateAgeOfOldestMessage(nil))},
			{graph("Invocations", runs...), graph("Errors", errors...)},
			{graph("Milliseconds", times...), graph("Table", z.table.MetricConsumedWriteCapacityUnits(nil), z.table.MetricConsumedReadCapacityUnits(nil))},
		}})
}
