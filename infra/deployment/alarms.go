package deployment

import (
	"fmt"

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

// apiErrors is how many answers of the API in five minutes may blame the server: a client tries such a
// request again, so one of them is nobody's trouble.
const apiErrors = 5

// alarm is raised when an expression over metrics is at least 1 for so many minutes.
type alarm struct {
	id, what   string
	minutes    int
	expression string
	metrics    map[string]awscloudwatch.IMetric
	missing    awscloudwatch.TreatMissingData // what it means that there is nothing to read
}

// createAlarms tells the topic what a person must look at: few things, since CloudWatch charges for
// every metric that an alarm reads. A function that fails is seen by what it leaves undone; nobody but
// the caller sees that of the API, so its answers are counted. Nothing takes messages out of the queue
// of starts, so that alarm is about those that come: it would stay raised, and be silent about others.
func (d *Deployment) createAlarms() {
	over := func(n int, statistic string) *awscloudwatch.MetricOptions {
		return &awscloudwatch.MetricOptions{Period: minutes(n), Statistic: jsii.String(statistic)}
	}
	for _, a := range []alarm{
		{"DeadLetters", "Messages that nobody could handle were put aside: zerodag admin redrive, and look into the queue of output StartsDeadQueue", 5,
			"MAX([FILL(events, 0), FILL(tasks, 0), FILL(starts, 0)])", map[string]awscloudwatch.IMetric{
				"events": d.events.dead.MetricApproximateNumberOfMessagesVisible(over(5, "Maximum")),
				"tasks":  d.tasks.dead.MetricApproximateNumberOfMessagesVisible(over(5, "Maximum")),
				"starts": d.starts.MetricNumberOfMessagesSent(over(5, "Sum"))}, awscloudwatch.TreatMissingData_NOT_BREACHING},
		{"Late", "Events of attempts wait for five minutes, or tasks for half an hour: functions fail or are throttled, or there are more tasks than agents can do", 5,
			fmt.Sprintf("MAX([FILL(events, 0) / %d, FILL(tasks, 0) / %d])", oldEvent, oldTask), map[string]awscloudwatch.IMetric{
				"events": d.events.live.MetricApproximateAgeOfOldestMessage(over(5, "Maximum")),
				"tasks":  d.tasks.live.MetricApproximateAgeOfOldestMessage(over(5, "Maximum"))}, awscloudwatch.TreatMissingData_NOT_BREACHING},
		{"ApiFails", fmt.Sprintf("The API answered at least %d requests in five minutes with an error of its own (5xx): its functions fail, are throttled or take too long", apiErrors), 5,
			fmt.Sprintf("FILL(errors, 0) / %d", apiErrors), map[string]awscloudwatch.IMetric{
				"errors": d.api.MetricServerError(over(5, "Sum"))}, awscloudwatch.TreatMissingData_NOT_BREACHING},
		{"TickSilent", "The tick was not called for ten minutes, or every call failed: no schedule fires", 10,
			"IF(FILL(calls, 0) > FILL(errors, 0), 0, 1)", map[string]awscloudwatch.IMetric{
				"calls":  d.functions["tick"].MetricInvocations(over(10, "Sum")),
				"errors": d.functions["tick"].MetricErrors(over(10, "Sum"))}, awscloudwatch.TreatMissingData_BREACHING},
	} {
		d.raise(a)
	}
}

func (d *Deployment) raise(a alarm) {
	value := awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{Expression: &a.expression, UsingMetrics: &a.metrics, Period: minutes(a.minutes)})
	awscloudwatch.NewAlarm(d.scope, jsii.String(a.id+"Alarm"), &awscloudwatch.AlarmProps{AlarmName: d.name(a.id), AlarmDescription: &a.what,
		Metric: value, Threshold: jsii.Number(1), EvaluationPeriods: jsii.Number(1),
		ComparisonOperator: awscloudwatch.ComparisonOperator_GREATER_THAN_OR_EQUAL_TO_THRESHOLD, TreatMissingData: a.missing,
	}).AddAlarmAction(awscloudwatchactions.NewSnsAction(d.topic))
}

// createDashboard shows the queues and functions on one page, if that is asked for. Its name has the
// region: dashboards of an account are one list for all regions.
func (d *Deployment) createDashboard() {
	if !d.Dashboard {
		return
	}
	graph := func(title string, metrics ...awscloudwatch.IMetric) awscloudwatch.IWidget {
		return awscloudwatch.NewGraphWidget(&awscloudwatch.GraphWidgetProps{Title: jsii.String(title), Width: jsii.Number(12), Left: &metrics})
	}
	var runs, errors, times []awscloudwatch.IMetric
	for _, f := range functions() {
		fn := d.functions[f.name]
		runs = append(runs, fn.MetricInvocations(nil))
		errors = append(errors, fn.MetricErrors(nil))
		times = append(times, fn.MetricDuration(nil))
	}
	own := func(name string) awscloudwatch.IMetric { // what functions write in their logs
		return awscloudwatch.NewMetric(&awscloudwatch.MetricProps{Namespace: jsii.String("zerodag"), MetricName: jsii.String(name), Statistic: jsii.String("Sum"),
			DimensionsMap: &map[string]*string{"stage": jsii.String(d.Stage)}})
	}
	awscloudwatch.NewDashboard(d.scope, jsii.String("Dashboard"), &awscloudwatch.DashboardProps{DashboardName: jsii.String(*d.name("overview") + "-" + *d.stack.Region()),
		Widgets: &[]*[]awscloudwatch.IWidget{
			{graph("Attempts", own("AttemptsStarted"), own("AttemptsFinished"), own("AttemptsFailed")), graph("Tasks and schedules", own("TasksRun"), own("SchedulesFired"), own("Errors"))},
			{graph("Messages waiting", d.events.live.MetricApproximateNumberOfMessagesVisible(nil), d.tasks.live.MetricApproximateNumberOfMessagesVisible(nil)),
				graph("Age of the oldest message", d.events.live.MetricApproximateAgeOfOldestMessage(nil), d.tasks.live.MetricApproximateAgeOfOldestMessage(nil))},
			{graph("Invocations", runs...), graph("Errors", errors...)},
			{graph("Milliseconds", times...), graph("Table", d.table.MetricConsumedWriteCapacityUnits(nil), d.table.MetricConsumedReadCapacityUnits(nil))},
		}})
}
