package main

import (
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/jsii-runtime-go"
)

func minutes(n int) awscdk.Duration { return awscdk.Duration_Minutes(jsii.Number(n)) }

// oldEvent is when events of attempts wait so long that somebody should look (seconds).
const oldEvent = 300

// createAlarms tells the topic what a person must look at.
func (z *stack) createAlarms() {
	for name, q := range map[string]queue{"Events": z.events, "Tasks": z.tasks} {
		z.alarm(name+"Dead", "Messages that nobody could handle lie in the dead-letter queue: zerodag admin redrive",
			q.dead.MetricApproximateNumberOfMessagesVisible(&awscloudwatch.MetricOptions{Period: minutes(5), Statistic: jsii.String("Maximum")}), 1)
	}
	z.alarm("EventsOld", "Events of attempts wait for minutes: executors fail or are throttled",
		z.events.live.MetricApproximateAgeOfOldestMessage(&awscloudwatch.MetricOptions{Period: minutes(5), Statistic: jsii.String("Maximum")}), oldEvent)
	for _, f := range functions() {
		z.alarm(strings.ToUpper(f.name[:1])+f.name[1:]+"Errors", "The function "+f.name+" fails: see its log",
			z.functions[f.name].MetricErrors(&awscloudwatch.MetricOptions{Period: minutes(5)}), 5)
	}
}

func (z *stack) alarm(id, what string, metric awscloudwatch.Metric, threshold float64) {
	a := awscloudwatch.NewAlarm(z.Stack, jsii.String(id+"Alarm"), &awscloudwatch.AlarmProps{
		AlarmName: z.name(id), AlarmDescription: jsii.String(what), Metric: metric, Threshold: jsii.Number(threshold),
		EvaluationPeriods: jsii.Number(1), ComparisonOperator: awscloudwatch.ComparisonOperator_GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
		TreatMissingData: awscloudwatch.TreatMissingData_NOT_BREACHING})
	a.AddAlarmAction(awscloudwatchactions.NewSnsAction(z.topic))
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
	awscloudwatch.NewDashboard(z.Stack, jsii.String("Dashboard"), &awscloudwatch.DashboardProps{DashboardName: z.name("overview"),
		Widgets: &[]*[]awscloudwatch.IWidget{
			{graph("Messages waiting", z.events.live.MetricApproximateNumberOfMessagesVisible(nil), z.tasks.live.MetricApproximateNumberOfMessagesVisible(nil)),
				graph("Age of the oldest message", z.events.live.MetricApproximateAgeOfOldestMessage(nil), z.tasks.live.MetricApproximateAgeOfOldestMessage(nil))},
			{graph("Invocations", runs...), graph("Errors", errors...)},
			{graph("Milliseconds", times...), graph("Table", z.table.MetricConsumedWriteCapacityUnits(nil), z.table.MetricConsumedReadCapacityUnits(nil))},
		}})
}
