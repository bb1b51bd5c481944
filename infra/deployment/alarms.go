package deployment

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/jsii-runtime-go"
)

func minutes(n int) awscdk.Duration { return awscdk.Duration_Minutes(jsii.Number(n)) }

// The ages of messages, in seconds, at which an operator is alerted.
const (
	oldEvent = 300
	oldTask  = 1800
)

// apiErrors is how many API responses in five minutes may be server errors: clients retry such requests, so a single
// error does no harm.
const apiErrors = 5

// functionErrors is the number of errors in five minutes that raises the alarm: a single failed call is retried and
// then succeeds. quotaPercent is the share of a quota that may be in use before an operator should request more.
const (
	functionErrors = 5
	quotaPercent   = 90
)

// alarm is raised when an expression over metrics is at least 1 for a number of minutes.
type alarm struct {
	id, what   string
	minutes    int
	expression string
	metrics    map[string]awscloudwatch.IMetric
	missing    awscloudwatch.TreatMissingData // what missing data means
}

// createAlarms notifies the topic of problems that require human attention. There are only a few alarms, because
// CloudWatch charges for every metric that an alarm reads. A killed function shows in its effects: old messages,
// messages put aside, errors of the API, a silent tick. Functions that survive an error count it themselves, all in one
// metric. Nothing takes messages out of the start queue, so that alarm watches arriving messages: otherwise it would
// stay raised and not report new ones.
func (d *Deployment) createAlarms() {
	over := func(n int, statistic string) *awscloudwatch.MetricOptions {
		return &awscloudwatch.MetricOptions{Period: minutes(n), Statistic: jsii.String(statistic)}
	}
	for _, a := range []alarm{
		{"DeadLetters", "There are dead letters: run zerodag admin redrive, and check the queue of the output StartsDeadQueue", 5,
			"MAX([FILL(events, 0), FILL(tasks, 0), FILL(starts, 0)])", map[string]awscloudwatch.IMetric{
				"events": d.events.dead.MetricApproximateNumberOfMessagesVisible(over(5, "Maximum")),
				"tasks":  d.tasks.dead.MetricApproximateNumberOfMessagesVisible(over(5, "Maximum")),
				"starts": d.starts.MetricNumberOfMessagesSent(over(5, "Sum"))}, awscloudwatch.TreatMissingData_NOT_BREACHING},
		{"Late", "Events of attempts have waited for five minutes, or tasks for half an hour: functions fail or are throttled, or there are more tasks than agents can run", 5,
			fmt.Sprintf("MAX([FILL(events, 0) / %d, FILL(tasks, 0) / %d])", oldEvent, oldTask), map[string]awscloudwatch.IMetric{
				"events": d.events.live.MetricApproximateAgeOfOldestMessage(over(5, "Maximum")),
				"tasks":  d.tasks.live.MetricApproximateAgeOfOldestMessage(over(5, "Maximum"))}, awscloudwatch.TreatMissingData_NOT_BREACHING},
		{"ApiFails", fmt.Sprintf("The API answered at least %d requests in five minutes with a server error (5xx): its functions fail, are throttled or take too long", apiErrors), 5,
			fmt.Sprintf("FILL(errors, 0) / %d", apiErrors), map[string]awscloudwatch.IMetric{
				"errors": d.api.errors(over(5, "Sum"))}, awscloudwatch.TreatMissingData_NOT_BREACHING},
		{"TickSilent", "The tick function was not called for ten minutes, or every call failed: no schedule fires", 10,
			"IF(FILL(calls, 0) > FILL(errors, 0), 0, 1)", map[string]awscloudwatch.IMetric{
				"calls":  d.functions["tick"].MetricInvocations(over(10, "Sum")),
				"errors": d.functions["tick"].MetricErrors(over(10, "Sum"))}, awscloudwatch.TreatMissingData_BREACHING},
		{"FunctionsFail", fmt.Sprintf("Functions logged at least %d errors in five minutes, or could not start the program that evaluates expressions, so tasks fail: read the logs of agent and executor", functionErrors), 5,
			fmt.Sprintf("MAX([FILL(errors, 0) / %d, FILL(evaluators, 0)])", functionErrors), map[string]awscloudwatch.IMetric{
				"errors":     d.own("Errors", over(5, "Sum")),
				"evaluators": d.own("NoEvaluator", over(5, "Sum"))}, awscloudwatch.TreatMissingData_NOT_BREACHING},
		d.quotas(over(5, "Maximum")),
	} {
		d.raise(a, d.name(a.id), 1, 1)
	}
}

// quotas returns the alarm on the account's concurrent functions and vCPUs. It reads metrics and quotas of the whole
// account, because other applications share them.
func (d *Deployment) quotas(over *awscloudwatch.MetricOptions) alarm {
	used := func(service, resource, class string) awscloudwatch.IMetric {
		return awscloudwatch.NewMetric(&awscloudwatch.MetricProps{Namespace: jsii.String("AWS/Usage"), MetricName: jsii.String("ResourceCount"), Period: over.Period, Statistic: over.Statistic,
			DimensionsMap: &map[string]*string{"Service": &service, "Type": jsii.String("Resource"), "Resource": &resource, "Class": &class}})
	}
	a := alarm{id: "Quotas", minutes: 5, missing: awscloudwatch.TreatMissingData_NOT_BREACHING, metrics: map[string]awscloudwatch.IMetric{}}
	a.what = fmt.Sprintf("At least %d %% of the account's quota of concurrent functions, or of Fargate's vCPUs, is in use: tasks will wait. Request a higher quota, or lower agents", quotaPercent)
	share := func(id string, metric awscloudwatch.IMetric) string {
		a.metrics[id] = metric
		return fmt.Sprintf("FILL(%[1]s, 0) / SERVICE_QUOTA(%[1]s)", id)
	}
	shares := share("functions", used("Lambda", "ConcurrentExecutions", "None"))
	if d.commands != nil {
		class := "Standard/OnDemand"
		if d.Spot {
			class = "Standard/Spot"
		}
		shares += ", " + share("machines", used("Fargate", "vCPU", class))
	}
	a.expression = fmt.Sprintf("100 / %d * MAX([%s])", quotaPercent, shares)
	return a
}

// own returns a metric that functions write in their logs.
func (d *Deployment) own(name string, over *awscloudwatch.MetricOptions) awscloudwatch.IMetric {
	return awscloudwatch.NewMetric(&awscloudwatch.MetricProps{Namespace: jsii.String("zerodag"), MetricName: &name, Statistic: over.Statistic, Period: over.Period,
		DimensionsMap: &map[string]*string{"stage": jsii.String(d.Stage)}})
}

// raise makes an alarm that goes off if the condition held in at least raising of the last periods.
func (d *Deployment) raise(a alarm, name *string, raising, periods int) awscloudwatch.Alarm {
	var some *float64
	if raising < periods {
		some = jsii.Number(raising)
	}
	value := awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{Expression: &a.expression, UsingMetrics: &a.metrics, Period: minutes(a.minutes)})
	made := awscloudwatch.NewAlarm(d.scope, jsii.String(a.id+"Alarm"), &awscloudwatch.AlarmProps{AlarmName: name, AlarmDescription: &a.what,
		Metric: value, Threshold: jsii.Number(1), EvaluationPeriods: jsii.Number(periods), DatapointsToAlarm: some,
		ComparisonOperator: awscloudwatch.ComparisonOperator_GREATER_THAN_OR_EQUAL_TO_THRESHOLD, TreatMissingData: a.missing,
	})
	made.AddAlarmAction(awscloudwatchactions.NewSnsAction(d.topic))
	return made
}

// createDashboard shows the queues and functions on one page, if requested. Its name contains the region because all
// regions of an account share one list of dashboards.
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
	own := func(name string) awscloudwatch.IMetric {
		return d.own(name, &awscloudwatch.MetricOptions{Statistic: jsii.String("Sum"), Period: minutes(5)})
	}
	rows := []*[]awscloudwatch.IWidget{
		// The life of an attempt, from left to right: a schedule or a call starts it, its tasks run, it ends.
		{graph("Schedules and starts", own("SchedulesFired"), own("AttemptsStarted"), d.starts.MetricNumberOfMessagesSent(nil)),
			graph("Delay of schedules (ms)", d.own("ScheduleDelay", &awscloudwatch.MetricOptions{Statistic: jsii.String("Maximum"), Period: minutes(5)}))},
		{graph("Tasks", own("TasksRun"), own("Errors"), own("NoEvaluator")), graph("Ends of attempts", own("AttemptsFinished"), own("AttemptsFailed"))},
		{graph("Messages waiting", d.events.live.MetricApproximateNumberOfMessagesVisible(nil), d.tasks.live.MetricApproximateNumberOfMessagesVisible(nil)),
			graph("Age of the oldest message", d.events.live.MetricApproximateAgeOfOldestMessage(nil), d.tasks.live.MetricApproximateAgeOfOldestMessage(nil))},
		{graph("Invocations", runs...), graph("Errors", errors...)},
		{graph("Milliseconds", times...), graph("Table", d.table.MetricConsumedWriteCapacityUnits(nil), d.table.MetricConsumedReadCapacityUnits(nil))},
	}
	if d.IsGradual() {
		var calls, crashes []awscloudwatch.IMetric
		for _, r := range d.releases {
			calls, crashes = append(calls, d.releaseMetric(r, "Invocations", minutes(5))), append(crashes, d.releaseMetric(r, "Errors", minutes(5)))
		}
		rows = append(rows, &[]awscloudwatch.IWidget{graph("Calls of the newest versions", calls...), graph("Crashes of the newest versions", crashes...)})
	}
	awscloudwatch.NewDashboard(d.scope, jsii.String("Dashboard"), &awscloudwatch.DashboardProps{DashboardName: jsii.String(*d.name("overview") + "-" + *d.stack.Region()), Widgets: &rows})
}
