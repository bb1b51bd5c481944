package deployment

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscodedeploy"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// Gradual deploys. Without them, callers call $LATEST of a function, which a deploy changes at once. With them, a stage
// has additional resources: each function has a published version and an alias, permissions and retry limits also exist
// for the alias, and redirect makes every caller call the alias. Therefore CloudFormation changes callers in place when
// the setting is added or removed, and each caller has its permission before and after that.
//
// The command function stays on $LATEST: users' programs fail in it, so its errors do not show whether a release is
// bad. The web console's files also stay there: a page and its files must be from the same build, but an alias chooses
// a version for each request.

// Names of aliases. The rule of each minute has a separate alias, because its failed calls are dropped (minuteTick). It
// cannot use the alias "minute", because Lambda does not shift calls from $LATEST.
const (
	liveAlias       = "live"
	liveMinuteAlias = "live-minute"
)

// A new version that fails in releaseMinutes of releasePeriods minutes is rolled back: a single minute may be a
// coincidence. A minute fails with one crash, or with releaseErrors failures that the function reports itself.
const (
	releasePeriods = 5
	releaseMinutes = 2
	releaseErrors  = 2
)

// release is an alias that CodeDeploy moves from one version to the next.
type release struct {
	id       string // of its constructs; also the name of its deployment group
	function string
	name     string
	alias    awslambda.Alias
	version  awslambda.Version
	ready    []awscdk.CfnResource // resources that must exist before it is called
}

// createReleases creates aliases, redirects all callers to them, and lets CodeDeploy move them.
func (d *Deployment) createReleases() {
	if !d.IsGradual() {
		return
	}
	resources := *d.scope.Node().FindAll(constructs.ConstructOrder_PREORDER)
	instead := map[string]*release{} // by the reference that callers use without gradual deploys
	for _, f := range functions() {
		r := d.release(f.name+"Live", f.name, awslambda.AliasProps{AliasName: jsii.String(liveAlias)})
		instead[d.resolved(d.functions[f.name].FunctionArn())], instead[d.resolved(d.functions[f.name].FunctionName())] = r, r
	}
	minute := d.release("tickLiveMinute", "tick", awslambda.AliasProps{AliasName: jsii.String(liveMinuteAlias), RetryAttempts: jsii.Number(tickTries), MaxEventAge: seconds(minuteAge)})
	d.allowRules(minute.alias)
	minute.ready = append(minute.ready, minute.alias.Node().FindChild(jsii.String(rulesPermission)).(awscdk.CfnResource))
	instead[d.resolved(d.minute.FunctionArn())] = minute
	for _, c := range resources {
		d.repeat(c, instead)
	}
	for _, c := range resources {
		d.redirect(c, instead)
	}
	d.scheduler.AddToPolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{Actions: jsii.Strings("lambda:InvokeFunction"), Resources: &[]*string{d.StartFunction().FunctionArn()}}))
	d.createDeploymentGroups()
}

// release makes an alias for the newest version of a function. An old version is deleted when a deploy is complete: to
// go back, deploy the old program again, which publishes it. Kept versions would take storage, and Lambda refuses to
// publish a version that equals the last one, so setting gradual again would fail.
func (d *Deployment) release(id, function string, p awslambda.AliasProps) *release {
	version := d.functions[function].CurrentVersion()
	p.Version = version
	r := &release{id: id, function: function, name: *p.AliasName, version: version, alias: awslambda.NewAlias(d.scope, &id, &p)}
	d.releases = append(d.releases, r)
	return r
}

// StartFunction returns the target for schedules and rules that start workflows.
func (d *Deployment) StartFunction() awslambda.IFunction {
	for _, r := range d.releases {
		if r.function == "tick" && r.name == liveAlias {
			return r.alias
		}
	}
	return d.functions["tick"]
}

// resolved returns a value as it appears in the template.
func (d *Deployment) resolved(value any) string {
	text, err := json.Marshal(d.stack.Resolve(value))
	if err != nil {
		panic(fmt.Sprintf("deployment: encode a value of the template: %v", err)) // the template is JSON
	}
	return string(text)
}

// repeat gives an alias everything that a function has for $LATEST: permissions to call it and the handling of failed
// asynchronous calls. A permission for one rule cannot be repeated, because the rule must wait for it; the permission
// for all rules of the account covers that.
func (d *Deployment) repeat(c constructs.IConstruct, instead map[string]*release) {
	if d.latest[*c.Node().Path()] {
		return
	}
	scope, id := c.Node().Scope().(constructs.Construct), jsii.String(*c.Node().Id()+"Live")
	switch x := c.(type) {
	case awslambda.CfnPermission:
		r := instead[d.resolved(x.FunctionName())]
		if r == nil || r.name != liveAlias || strings.HasPrefix(d.resolved(x.SourceArn()), `{"Fn::GetAtt"`) {
			return
		}
		r.ready = append(r.ready, awslambda.NewCfnPermission(scope, id, &awslambda.CfnPermissionProps{Action: x.Action(), FunctionName: r.alias.FunctionArn(),
			Principal: x.Principal(), SourceAccount: x.SourceAccount(), SourceArn: x.SourceArn()}))
	case awslambda.CfnEventInvokeConfig:
		if *x.Qualifier() != "$LATEST" {
			return
		}
		r := instead[d.resolved(x.FunctionName())]
		made := awslambda.NewCfnEventInvokeConfig(scope, id, &awslambda.CfnEventInvokeConfigProps{FunctionName: x.FunctionName(), Qualifier: &r.name, DestinationConfig: x.DestinationConfig(),
			MaximumEventAgeInSeconds: x.MaximumEventAgeInSeconds(), MaximumRetryAttempts: x.MaximumRetryAttempts()})
		made.AddDependency(r.alias.Node().DefaultChild().(awscdk.CfnResource))
		r.ready = append(r.ready, made)
	}
}

// remaining holds resource types that refer to functions without calling them.
var remaining = []string{"AWS::Lambda::Permission", "AWS::Lambda::EventInvokeConfig", "AWS::Lambda::Alias", "AWS::IAM::Policy"}

// redirect replaces each reference to a function in a resource with a reference to its alias. Only this function
// decides between the two.
func (d *Deployment) redirect(c constructs.IConstruct, instead map[string]*release) {
	x, ok := c.(awscdk.CfnResource)
	if !ok || slices.Contains(remaining, *x.CfnResourceType()) || d.latest[*x.Node().Path()] {
		return
	}
	references(d.stack.Resolve(x.CfnProperties()), nil, func(path []string, value any) {
		found := map[*release]bool{}
		if value = replaced(value, instead, found); len(found) == 0 {
			return
		}
		x.AddPropertyOverride(jsii.String(strings.Join(path, ".")), awscdk.Token_AsString(value, nil))
		for r := range found {
			for _, p := range r.ready {
				x.AddDependency(p)
			}
		}
	})
}

// references visits each intrinsic function of a value, with its path in the template.
func references(value any, path []string, visit func([]string, any)) {
	switch x := value.(type) {
	case map[string]any:
		for key, inner := range x {
			if key == "Ref" || strings.HasPrefix(key, "Fn::") {
				visit(path, value)
				return
			}
			references(inner, append(slices.Clone(path), strings.ToUpper(key[:1])+key[1:]), visit)
		}
	case []any:
		for i, inner := range x {
			references(inner, append(slices.Clone(path), strconv.Itoa(i)), visit)
		}
	}
}

// replaced returns a value with aliases in place of functions, and records in found which aliases it used.
func replaced(value any, instead map[string]*release, found map[*release]bool) any {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("deployment: encode a value of the template: %v", err)) // the template is JSON
	}
	if r := instead[string(text)]; r != nil {
		found[r] = true
		return r.alias.FunctionArn()
	}
	switch x := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, inner := range x {
			out[key] = replaced(inner, instead, found)
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i, inner := range x {
			out[i] = replaced(inner, instead, found)
		}
		return out
	}
	return value
}

// createDeploymentGroups lets CodeDeploy move the aliases when a deploy changes their versions. All groups watch the
// same alarms: if one function fails, all are rolled back together.
func (d *Deployment) createDeploymentGroups() {
	var watched []any
	for _, a := range d.createReleaseAlarms() {
		watched = append(watched, &awscodedeploy.CfnDeploymentGroup_AlarmProperty{Name: a.AlarmName()})
	}
	role := awsiam.NewRole(d.scope, jsii.String("Releaser"), &awsiam.RoleProps{AssumedBy: awsiam.NewServicePrincipal(jsii.String("codedeploy.amazonaws.com"), &awsiam.ServicePrincipalOpts{
		Conditions: &map[string]any{"StringEquals": map[string]any{"aws:SourceAccount": d.stack.Account()}}})})
	var aliases []*string
	for _, f := range functions() {
		aliases = append(aliases, versions(d.functions[f.name].FunctionArn())...)
	}
	// AWS's managed policy would allow the same on all functions of the account.
	role.AddToPolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{Actions: jsii.Strings("lambda:GetAlias", "lambda:GetProvisionedConcurrencyConfig", "lambda:UpdateAlias"), Resources: &aliases}))
	role.AddToPolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{Actions: jsii.Strings("cloudwatch:DescribeAlarms"), Resources: jsii.Strings("*")}))
	application := awscodedeploy.NewCfnApplication(d.scope, jsii.String("Releases"), &awscodedeploy.CfnApplicationProps{ApplicationName: d.name("releases"), ComputePlatform: jsii.String("Lambda")})
	for _, r := range d.releases {
		group := awscodedeploy.NewCfnDeploymentGroup(d.scope, jsii.String(r.id+"Group"), &awscodedeploy.CfnDeploymentGroupProps{
			ApplicationName: application.Ref(), DeploymentGroupName: &r.id, ServiceRoleArn: role.RoleArn(),
			DeploymentConfigName:      jsii.String("CodeDeployDefault.Lambda" + d.Gradual),
			DeploymentStyle:           &awscodedeploy.CfnDeploymentGroup_DeploymentStyleProperty{DeploymentType: jsii.String("BLUE_GREEN"), DeploymentOption: jsii.String("WITH_TRAFFIC_CONTROL")},
			AutoRollbackConfiguration: &awscodedeploy.CfnDeploymentGroup_AutoRollbackConfigurationProperty{Enabled: jsii.Bool(true), Events: jsii.Strings("DEPLOYMENT_FAILURE", "DEPLOYMENT_STOP_ON_ALARM", "DEPLOYMENT_STOP_ON_REQUEST")},
			AlarmConfiguration:        &awscodedeploy.CfnDeploymentGroup_AlarmConfigurationProperty{Enabled: jsii.Bool(true), Alarms: watched},
		})
		group.Node().AddDependency(role) // with its policy
		alias := r.alias.Node().DefaultChild().(awslambda.CfnAlias)
		alias.AddDependency(group)
		alias.CfnOptions().SetUpdatePolicy(&awscdk.CfnUpdatePolicy{CodeDeployLambdaAliasUpdate: &awscdk.CfnCodeDeployLambdaAliasUpdate{ApplicationName: application.Ref(), DeploymentGroupName: group.Ref()}})
	}
}

// createReleaseAlarms makes the alarms that stop a deploy. They read only metrics of the new versions. CodeDeploy stops
// a deploy at once if an alarm is already raised: an alarm about all versions would block the deploy that fixes the old
// one. For the same reason, the names contain the versions, so that each release has alarms that were never raised. A
// changed alarm would keep its state.
func (d *Deployment) createReleaseAlarms() []awscloudwatch.Alarm {
	crashes, failures := map[string]awscloudwatch.IMetric{}, map[string]awscloudwatch.IMetric{}
	var crashed, failed []string
	suffix := ""
	for _, r := range d.releases {
		suffix += "-" + *r.version.Version()
		crashes[r.id] = d.releaseMetric(r, "Errors", minutes(1))
		crashed = append(crashed, "FILL("+r.id+", 0)")
		if r.function == "upload" || r.name != liveAlias { // upload reports errors only to Lambda; the tick's own metrics cover all its aliases
			continue
		}
		failures[r.id] = awscloudwatch.NewMetric(&awscloudwatch.MetricProps{Namespace: jsii.String("zerodag"), MetricName: jsii.String("ReleaseErrors"), Statistic: jsii.String("Sum"), Period: minutes(1),
			DimensionsMap: &map[string]*string{"stage": &d.Stage, "function": &r.function, "version": r.version.Version()}})
		failed = append(failed, "FILL("+r.id+", 0)")
	}
	const back = "During a gradual deploy, all functions are rolled back to their old versions"
	return []awscloudwatch.Alarm{
		d.raise(alarm{id: "ReleaseCrashes", minutes: 1, missing: awscloudwatch.TreatMissingData_NOT_BREACHING,
			what:       fmt.Sprintf("The newest version of a function crashed or timed out in %d of %d minutes. %s", releaseMinutes, releasePeriods, back),
			expression: "MAX([" + strings.Join(crashed, ", ") + "])", metrics: crashes}, jsii.String(*d.name("ReleaseCrashes")+suffix), releaseMinutes, releasePeriods),
		d.raise(alarm{id: "ReleaseErrors", minutes: 1, missing: awscloudwatch.TreatMissingData_NOT_BREACHING,
			what:       fmt.Sprintf("The newest version of a function reported at least %d errors a minute in %d of %d minutes. %s", releaseErrors, releaseMinutes, releasePeriods, back),
			expression: fmt.Sprintf("MAX([%s]) / %d", strings.Join(failed, ", "), releaseErrors), metrics: failures}, jsii.String(*d.name("ReleaseErrors")+suffix), releaseMinutes, releasePeriods),
	}
}

// releaseMetric returns a Lambda metric about calls of the newest version through its alias.
func (d *Deployment) releaseMetric(r *release, name string, period awscdk.Duration) awscloudwatch.IMetric {
	function := *d.name(r.function)
	return awscloudwatch.NewMetric(&awscloudwatch.MetricProps{Namespace: jsii.String("AWS/Lambda"), MetricName: &name, Statistic: jsii.String("Sum"), Period: period, Label: jsii.String(r.function + ":" + r.name),
		DimensionsMap: &map[string]*string{"FunctionName": &function, "Resource": jsii.String(function + ":" + r.name), "ExecutedVersion": r.version.Version()}})
}

// versions returns a function with its versions and aliases.
func versions(function *string) []*string {
	return []*string{function, awscdk.Fn_Join(jsii.String(""), &[]*string{function, jsii.String(":*")})}
}
