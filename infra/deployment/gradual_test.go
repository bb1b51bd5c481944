package deployment

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/jsii-runtime-go"

	"zerodag/infra/settings"
	"zerodag/internal/prices"
)

func gradual(s *settings.Settings) { s.Gradual = "Linear10PercentEvery1Minute" }

// allowedReferences returns the places in a template that may refer to a function instead of its alias although deploys
// are gradual, by the type of the resource and the property, and why.
func allowedReferences() map[[2]string]string {
	const (
		same = "the alias has the same (TestGradual/repeated); that of the function is for the deploy that sets gradual: none again"
		page = "the web console's page and its files must be of one build (TestGradual/page)"
	)
	return map[[2]string]string{
		{"AWS::Lambda::Version", "FunctionName"}:                  "it is a version of the function",
		{"AWS::Lambda::Alias", "FunctionName"}:                    "it is an alias of the function",
		{"AWS::Lambda::EventInvokeConfig", "FunctionName"}:        same,
		{"AWS::Lambda::EventInvokeConfig", "Qualifier"}:           "of the alias for the calls of each minute without gradual deploys",
		{"AWS::Lambda::Permission", "FunctionName"}:               same,
		{"AWS::IAM::Policy", "PolicyDocument"}:                    "rights of the agent, of schedules that were made before, and of CodeDeploy (TestStack/rights)",
		{"AWS::CloudWatch::Alarm", "Metrics"}:                     "metrics of all versions",
		{"AWS::CloudWatch::Dashboard", "DashboardBody"}:           "metrics of all versions",
		{"AWS::ApiGatewayV2::Integration page", "IntegrationUri"}: page,
		{"AWS::ApiGateway::Method page", "Integration"}:           page,
	}
}

// reference is a place in a template that refers to a function, or to an alias.
type reference struct{ id, property, to string }

// named matches function names in text, with the alias if it is named.
var named = regexp.MustCompile(`(?:function:|--function-name )(zerodag-main-[a-z]+)(:live)?`)

// refersTo lists all references in a template to the chosen resources, whether by CloudFormation references or by their
// names.
func refersTo(m map[string]any, chosen func(map[string]any) bool) (list []reference) {
	all, names := resources(m), map[string]string{}
	for id, r := range all {
		if name, ok := properties(r)["FunctionName"].(string); ok && chosen(r) {
			names[name] = id
		}
	}
	var walk func(v any, note func(to string))
	walk = func(v any, note func(to string)) {
		switch x := v.(type) {
		case string: // an ARN, or a command
			for _, match := range named.FindAllStringSubmatch(x, -1) {
				if to := names[match[1]]; to != "" && match[2] == "" {
					note(to)
				}
			}
		case []any:
			for _, inner := range x {
				walk(inner, note)
			}
		case map[string]any:
			to, _ := x["Ref"].(string)
			if get, ok := x["Fn::GetAtt"].([]any); ok {
				to, _ = get[0].(string)
			}
			if r := all[to]; r != nil && chosen(r) {
				note(to)
			}
			for _, inner := range x {
				walk(inner, note)
			}
		}
	}
	for id, r := range all {
		for property, v := range properties(r) {
			if r["Type"] != "AWS::Lambda::Function" || property != "FunctionName" {
				walk(v, func(to string) { list = append(list, reference{id, property, to}) })
			}
		}
	}
	outputs, _ := m["Outputs"].(map[string]any)
	for id, v := range outputs {
		walk(v, func(to string) { list = append(list, reference{"output " + id, "Value", to}) })
	}
	return list
}

// direct lists places that call a function's $LATEST without a reason.
func direct(m map[string]any, used map[[2]string]bool) (problems []string) {
	all, allowed, page := resources(m), allowedReferences(), pageParts(m)
	isLatest := func(r map[string]any) bool {
		return r["Type"] == "AWS::Lambda::Function" || r["Type"] == "AWS::Lambda::Alias" && properties(r)["Name"] == "minute"
	}
	for _, r := range refersTo(m, isLatest) {
		key := [2]string{"output", r.property}
		if x := all[r.id]; x != nil {
			key[0] = x["Type"].(string)
		}
		if page[r.id] {
			key[0] += " page"
		}
		if used[key] = true; allowed[key] == "" {
			problems = append(problems, fmt.Sprintf("%s (%s): %s refers to %s, and not to its alias", r.id, key[0], r.property, r.to))
		}
	}
	return problems
}

// pageParts returns the integrations and methods that serve the page: those of the routes / and /{path+}, which also
// serve /api itself.
func pageParts(m map[string]any) map[string]bool {
	all, parts := resources(m), map[string]bool{}
	for id, r := range all {
		p := properties(r)
		switch r["Type"] {
		case "AWS::ApiGatewayV2::Route":
			if key := p["RouteKey"]; key == "ANY /{path+}" || key == "GET /" {
				for other := range all {
					if all[other]["Type"] == "AWS::ApiGatewayV2::Integration" && strings.Contains(fmt.Sprint(p["Target"]), "Ref:"+other+"]") {
						parts[other] = true
					}
				}
			}
		case "AWS::ApiGateway::Method":
			parts[id] = strings.Count(restPath(all, p["ResourceId"]), "/") < 2 // the paths of the API and of machines have at least two parts
		}
	}
	return parts
}

// restPath returns the path of a REST API resource.
func restPath(all map[string]map[string]any, id any) string {
	ref, _ := id.(map[string]any)
	name, _ := ref["Ref"].(string)
	if name == "" {
		return ""
	}
	return restPath(all, properties(all[name])["ParentId"]) + "/" + properties(all[name])["PathPart"].(string)
}

// TestGradual checks what a stage with gradual deploys has: every caller of a function calls its alias and gets the
// permission first, and CodeDeploy moves each alias under the alarms about the new versions.
func TestGradual(t *testing.T) {
	defer jsii.Close()
	off := func(s *settings.Settings) { everything(s); s.Gradual = "none" }
	on := func(s *settings.Settings) { off(s); gradual(s) }
	hiddenOff := func(s *settings.Settings) { privateWithMicrovms(s); s.Gradual = "none" }
	hiddenOn := func(s *settings.Settings) { hiddenOff(s); gradual(s) }
	was, now := template(t, where, off), template(t, where, on)
	private, privateOff := template(t, where, hiddenOn), template(t, where, hiddenOff)
	used := map[[2]string]bool{}
	for name, m := range map[string]map[string]any{"public": now, "private": private} {
		t.Run(name, func(t *testing.T) {
			for _, problem := range direct(m, used) {
				t.Error(problem)
			}
			mayCallAliases(t, m)
			groups(t, m)
			t.Run("repeated", func(t *testing.T) { repeated(t, m) })
		})
	}
	for key, why := range allowedReferences() {
		if !used[key] {
			t.Errorf("%v may refer to functions (%s), and does not", key, why)
		}
	}
	t.Run("planted", func(t *testing.T) { plantDirect(t, now) })
	t.Run("there and back", func(t *testing.T) { thereAndBack(t, was, now); thereAndBack(t, privateOff, private) })
	t.Run("page", func(t *testing.T) { page(t, now) })
	t.Run("deployed", func(t *testing.T) {
		if a, b := ofType(privateOff, "AWS::ApiGateway::Deployment"), ofType(private, "AWS::ApiGateway::Deployment"); len(a) != 1 || slices.Equal(a, b) {
			t.Errorf("the private API is deployed as %v without, and as %v with aliases: its stage would go on without them", a, b)
		}
	})
	t.Run("versions", func(t *testing.T) { versionsChange(t, now, on) })
	t.Run("release alarms", func(t *testing.T) { releaseAlarms(t, now) })
	t.Run("network", func(t *testing.T) {
		text := fmt.Sprint(template(t, where, func(s *settings.Settings) { gradual(s); s.VPC, s.Subnets = "vpc-1", []string{"subnet-a"} })["Resources"])
		if n := strings.Count(text, "lambda:SourceFunctionArn:[map[Fn::Join:[ [arn: map[Ref:AWS::Partition] :lambda:eu-central-1:111111111111:function:zerodag-main-"); n != 2 || !strings.Contains(text, ":function:zerodag-main-agent:*]") {
			t.Errorf("%d functions in a VPC are denied what Lambda does for them, want 2 with their versions", n)
		}
	})
	if text := fmt.Sprint(now["Outputs"]); !strings.Contains(text, "--function-name zerodag-main-api:live ") {
		t.Errorf("the first token is made by another version: %s", text)
	}
}

func ofType(m map[string]any, kind string) (ids []string) {
	for id, r := range resources(m) {
		if r["Type"] == kind {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// isAlias reports whether a resource is an alias that CodeDeploy moves.
func isAlias(r map[string]any) bool {
	return r["Type"] == "AWS::Lambda::Alias" && strings.HasPrefix(fmt.Sprint(properties(r)["Name"]), "live")
}

// callers holds the resource types that call functions, and the principals on whose behalf they call. An event source
// mapping calls with the rights of Lambda itself.
var callers = map[string]string{"AWS::Events::Rule": "events.amazonaws.com", "AWS::ApiGatewayV2::Integration": "apigateway.amazonaws.com", "AWS::ApiGateway::Method": "apigateway.amazonaws.com",
	"AWS::S3::Bucket": "s3.amazonaws.com", "AWS::Lambda::EventSourceMapping": ""}

// mayCallAliases checks that each caller of an alias has the permission, and gets it before it calls.
func mayCallAliases(t *testing.T, m map[string]any) {
	all, called := resources(m), map[string]bool{}
	others := map[any]bool{"AWS::Lambda::Permission": true, "AWS::IAM::Policy": true, "AWS::Lambda::EventInvokeConfig": true}
	for _, r := range refersTo(m, isAlias) {
		caller := all[r.id]
		if caller == nil || others[caller["Type"]] {
			continue
		}
		called[r.to] = true
		principal, known := callers[caller["Type"].(string)]
		if !known {
			t.Errorf("%s (%s) refers to %s, and the test does not know whether it calls", r.id, caller["Type"], r.to)
		}
		if principal == "" {
			continue
		}
		if !slices.ContainsFunc(texts(caller["DependsOn"]), func(id string) bool {
			p := properties(all[id])
			return all[id]["Type"] == "AWS::Lambda::Permission" && p["Principal"] == principal && fmt.Sprint(p["FunctionName"]) == "map[Ref:"+r.to+"]"
		}) {
			t.Errorf("%s (%s) calls %s before it may: it waits for %v", r.id, caller["Type"], r.to, caller["DependsOn"])
		}
	}
	for id, r := range all {
		if isAlias(r) && !called[id] {
			t.Errorf("nothing calls %s", id)
		}
	}
}

// repeated checks that the aliases have every permission of their functions, and treat failed calls the same way.
func repeated(t *testing.T, m map[string]any) {
	all, live := resources(m), map[string]string{}
	for id, r := range all {
		if isAlias(r) && properties(r)["Name"] == liveAlias {
			live[properties(r)["FunctionName"].(map[string]any)["Ref"].(string)] = id
		}
	}
	function := func(v any) string {
		for id := range live {
			if text := fmt.Sprint(v); text == "map[Ref:"+id+"]" || text == "map[Fn::GetAtt:["+id+" Arn]]" {
				return id
			}
		}
		return ""
	}
	compared := 0
	for id, r := range all {
		p := properties(r)
		f := function(p["FunctionName"])
		if f == "" || r["Type"] != "AWS::Lambda::Permission" && (r["Type"] != "AWS::Lambda::EventInvokeConfig" || p["Qualifier"] != "$LATEST") {
			continue
		}
		if get := at(p["SourceArn"], []string{"Fn::GetAtt"}); get != nil { // of one rule: the alias has one permission for all rules
			if all[get.([]any)[0].(string)]["Type"] != "AWS::Events::Rule" {
				t.Errorf("%s is not for a rule", id)
			}
			continue
		}
		want := maps.Clone(p)
		if r["Type"] == "AWS::Lambda::Permission" {
			want["FunctionName"] = map[string]any{"Ref": live[f]}
		} else {
			want["Qualifier"] = liveAlias
		}
		if strings.Contains(fmt.Sprint(p["SourceArn"]), "/*/*/{path+}") || strings.HasSuffix(fmt.Sprint(p["SourceArn"]), "/*/*/]]]") {
			continue // of the page
		}
		compared++
		if !slices.ContainsFunc(slices.Collect(maps.Values(all)), func(other map[string]any) bool {
			return other["Type"] == r["Type"] && fmt.Sprint(properties(other)) == fmt.Sprint(want)
		}) {
			t.Errorf("%s has nothing like it for the alias: %v", id, p)
		}
	}
	if compared < 6 {
		t.Errorf("only %d permissions and limits were compared", compared)
	}
}

// groups checks that CodeDeploy moves every called alias as the setting specifies, and under the release's alarms.
func groups(t *testing.T, m map[string]any) {
	all, found := resources(m), 0
	for id, r := range all {
		if !isAlias(r) {
			continue
		}
		found++
		update, _ := r["UpdatePolicy"].(map[string]any)["CodeDeployLambdaAliasUpdate"].(map[string]any)
		name := fmt.Sprint(update["DeploymentGroupName"])
		group := all[strings.TrimSuffix(strings.TrimPrefix(name, "map[Ref:"), "]")]
		p := properties(group)
		if p["DeploymentConfigName"] != "CodeDeployDefault.LambdaLinear10PercentEvery1Minute" || fmt.Sprint(p["ApplicationName"]) != fmt.Sprint(update["ApplicationName"]) ||
			!strings.Contains(fmt.Sprint(p["AutoRollbackConfiguration"]), "DEPLOYMENT_STOP_ON_ALARM") || fmt.Sprint(at(p["AutoRollbackConfiguration"], []string{"Enabled"})) != "true" {
			t.Errorf("%s is moved by %s: %v", id, name, p)
		}
		for _, alarm := range []string{"ReleaseCrashesAlarm", "ReleaseErrorsAlarm"} {
			if !strings.Contains(fmt.Sprint(p["AlarmConfiguration"]), "Ref:"+alarm) {
				t.Errorf("%s does not stop for %s", id, alarm)
			}
		}
		if !strings.HasPrefix(fmt.Sprint(at(properties(r), []string{"FunctionVersion"})), "map[Fn::GetAtt:[") {
			t.Errorf("%s has no version: %v", id, properties(r))
		}
	}
	if found != len(functions())+1 {
		t.Errorf("%d aliases, want one for each function, and that of each minute", found)
	}
}

// plantDirect checks that direct finds each caller that is changed back to the function, and a name in text.
func plantDirect(t *testing.T, m map[string]any) {
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	all, planted := resources(m), 0
	for _, r := range refersTo(m, isAlias) {
		caller := all[r.id]
		if caller == nil || callers[caller["Type"].(string)] == "" && caller["Type"] != "AWS::Lambda::EventSourceMapping" {
			continue
		}
		var mutated map[string]any
		if err := json.Unmarshal(text, &mutated); err != nil {
			t.Fatal(err)
		}
		of := properties(all[r.to])["FunctionName"].(map[string]any)["Ref"].(string)
		for what, v := range map[string]any{"a reference": map[string]any{"Fn::GetAtt": []any{of, "Arn"}}, "a name": "arn:aws:lambda:eu-central-1:111111111111:function:" + properties(all[of])["FunctionName"].(string)} {
			planted++
			set(mutated["Resources"].(map[string]any), r.id, r.property, v)
			if problems := direct(mutated, map[[2]string]bool{}); len(problems) != 1 || !strings.HasPrefix(problems[0], r.id+" ") {
				t.Errorf("%s of %s by %s: %q", r.property, r.id, what, problems)
			}
		}
	}
	if planted < 14 {
		t.Errorf("%d references were planted", planted)
	}
}

// thereAndBack checks that one deploy sets gradual and another removes it: all resources that a stage has without it
// stay, so callers keep their permissions, nothing is replaced, and no name collides. Only references of callers, their
// dependencies and the functions' environment change.
func thereAndBack(t *testing.T, off, on map[string]any) {
	known, was, now := readSchemas(t), resources(off), resources(on)
	for _, problem := range slices.Concat(upgrade(off, on, known, map[string]bool{}), upgrade(on, off, known, map[string]bool{})) {
		t.Error(problem)
	}
	changes := 0
	for id, r := range was {
		kind := r["Type"].(string)
		if kind == "AWS::ApiGateway::Deployment" || kind == "AWS::ApiGateway::Stage" { // replaced each time methods change
			continue
		}
		if now[id] == nil {
			t.Errorf("%s (%s) is gone with gradual deploys", id, kind)
			continue
		}
		for property, v := range properties(r) {
			if fmt.Sprint(v) == fmt.Sprint(properties(now[id])[property]) {
				continue
			}
			changes++
			_, calls := callers[kind]
			switch {
			case calls, kind == "AWS::Lambda::Function" && property == "Environment", kind == "AWS::IAM::Policy" && strings.HasPrefix(id, "StartSchedules"),
				kind == "AWS::ApiGatewayV2::Route" && property == "Target", kind == "AWS::CloudWatch::Dashboard":
			default:
				t.Errorf("%s (%s): %s changes: %v, %v", id, kind, property, v, properties(now[id])[property])
			}
		}
	}
	if changes < 10 {
		t.Errorf("only %d properties changed", changes)
	}
}

// page checks that $LATEST serves the page and its files, and that the alias serves every path of the API.
func page(t *testing.T, m map[string]any) {
	all, seen := resources(m), map[bool]int{}
	for id, r := range all {
		key, _ := properties(r)["RouteKey"].(string)
		if r["Type"] != "AWS::ApiGatewayV2::Route" {
			continue
		}
		aliased := false
		for _, x := range refersTo(m, isAlias) {
			if strings.Contains(fmt.Sprint(properties(r)["Target"]), "Ref:"+x.id+"]") {
				aliased = true
			}
		}
		if seen[aliased]++; aliased == (key == "ANY /{path+}" || key == "GET /") {
			t.Errorf("%s (%s) calls an alias: %v", id, key, aliased)
		}
	}
	if seen[true] != 5 || seen[false] != 2 {
		t.Errorf("routes to aliases and to $LATEST: %v", seen)
	}
}

// versionsChange checks that a new program or configuration makes a new version of only that function, and that changes
// outside a version make none.
func versionsChange(t *testing.T, m map[string]any, on func(*settings.Settings)) {
	before := ofType(m, "AWS::Lambda::Version")
	differ := func(change func(*settings.Settings)) (list []string) {
		for _, id := range ofType(template(t, where, func(s *settings.Settings) { on(s); change(s) }), "AWS::Lambda::Version") {
			if !slices.Contains(before, id) {
				list = append(list, id[:strings.Index(id, "CurrentVersion")])
			}
		}
		return list
	}
	if got := fmt.Sprint(differ(func(s *settings.Settings) { s.Memory = 1024 })); got != "[agent executor upload]" {
		t.Errorf("other memory of three functions makes versions of %s", got)
	}
	if got := fmt.Sprint(differ(func(s *settings.Settings) { s.Gradual, s.Reserve = "Canary10Percent5Minutes", false })); got != "[]" {
		t.Errorf("another way to move calls, and other reservations, make versions of %s", got)
	}
	for id, r := range resources(m) {
		if r["Type"] == "AWS::Lambda::Version" && r["DeletionPolicy"] != nil && r["DeletionPolicy"] != "Delete" {
			t.Errorf("%s stays after the next deploy: %v", id, r["DeletionPolicy"])
		}
	}
}

// releaseAlarms checks that the alarms that stop a deploy read only the new version of each function, and that each
// release has separate alarms.
func releaseAlarms(t *testing.T, m map[string]any) {
	crashes, errors := map[string]bool{}, map[string]bool{}
	for id, r := range resources(m) {
		if r["Type"] != "AWS::CloudWatch::Alarm" || !strings.HasPrefix(id, "Release") {
			continue
		}
		p := properties(r)
		if name := fmt.Sprint(p["AlarmName"]); strings.Count(name, "Version]") != len(functions())+1 || !strings.Contains(name, "zerodag-main-Release") {
			t.Errorf("%s is called %s: a release would have the raised alarm of the one before", id, name)
		}
		if p["EvaluationPeriods"] != 5.0 || p["DatapointsToAlarm"] != 2.0 || p["TreatMissingData"] != "notBreaching" {
			t.Errorf("%s: %v", id, p)
		}
		for _, q := range p["Metrics"].([]any) {
			stat, ok := q.(map[string]any)["MetricStat"].(map[string]any)
			if !ok {
				continue
			}
			of := map[string]string{}
			for _, d := range stat["Metric"].(map[string]any)["Dimensions"].([]any) {
				of[fmt.Sprint(d.(map[string]any)["Name"])] = fmt.Sprint(d.(map[string]any)["Value"])
			}
			version, function := of["ExecutedVersion"]+of["version"], strings.TrimPrefix(of["FunctionName"]+of["function"], "zerodag-main-")
			if !strings.HasPrefix(version, "map[Fn::GetAtt:["+function+"CurrentVersion") || stat["Period"] != 60.0 {
				t.Errorf("%s reads %v: %v", id, of, stat)
			}
			if of["function"] != "" {
				errors[of["function"]] = true
			} else {
				crashes[of["Resource"]] = true
			}
		}
	}
	if n := len(crashes) + len(errors); n != prices.ReleaseAlarmMetrics {
		t.Errorf("the alarms read %d metrics, and prices.ReleaseAlarmMetrics is %d", n, prices.ReleaseAlarmMetrics)
	}
	if got := fmt.Sprint(slices.Sorted(maps.Keys(crashes))); got != "[zerodag-main-agent:live zerodag-main-api:live zerodag-main-executor:live zerodag-main-runners:live zerodag-main-tick:live zerodag-main-tick:live-minute zerodag-main-upload:live]" {
		t.Errorf("crashes of %s stop a deploy", got)
	}
	if got := fmt.Sprint(slices.Sorted(maps.Keys(errors))); got != "[agent api executor runners tick]" { // the functions that report their own metrics (internal/cloud)
		t.Errorf("errors of %s stop a deploy", got)
	}
}
