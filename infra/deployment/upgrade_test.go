package deployment

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/jsii-runtime-go"
)

// record is used for a release: from then on, templates are compared with that release's template.
var record = flag.Bool("record", false, "write testdata/released.json anew: go test ./infra/deployment -run TestUpgrade -record")

// released is the file of the last release's template with all resources.
const released = "testdata/released.json"

// holding lists the types of resources with something that a replacement would lack: data, messages, people, or an
// address that others know. Their logical IDs must not change, because CloudFormation would remove them and create
// others.
var holding = []string{"AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::SQS::Queue", "AWS::ApiGatewayV2::Api", "AWS::Cognito::UserPool", "AWS::Cognito::UserPoolClient", "AWS::Cognito::UserPoolDomain",
	"AWS::SecretsManager::Secret", "AWS::Events::EventBus", "AWS::SNS::Topic", "AWS::Logs::LogGroup"}

// fixed holds properties that a service can never change although the schema does not say so.
var fixed = map[string][]string{
	"AWS::Cognito::UserPool": {"AliasAttributes", "Schema", "UsernameAttributes", "UsernameConfiguration"},
}

// mayBeReplaced holds resources that the next release replaces, by logical ID, and why that is harmless.
var mayBeReplaced = map[string]string{}

// TestUpgrade checks that CloudFormation can turn the stack of the last release into today's without replacing anything
// that holds data and without a step that AWS refuses.
func TestUpgrade(t *testing.T) {
	defer jsii.Close()
	now := template(t, where, everything)
	if *record {
		text, err := json.MarshalIndent(now, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(released, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	used := map[string]bool{}
	for _, problem := range upgrade(readTemplate(t), now, readSchemas(t), used) {
		t.Error(problem)
	}
	for id, why := range mayBeReplaced {
		if !used[id] {
			t.Errorf("%s may be replaced (%s), and is not", id, why)
		}
	}
}

func readTemplate(t *testing.T) map[string]any {
	t.Helper()
	text, err := os.ReadFile(released)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatalf("%s: %v", released, err)
	}
	return m
}

// upgrade lists reasons why CloudFormation could not turn one template into another or would lose something.
func upgrade(from, to map[string]any, known schemas, used map[string]bool) (problems []string) {
	before, after := resources(from), resources(to)
	say := func(form string, args ...any) { problems = append(problems, fmt.Sprintf(form, args...)) }
	for _, id := range slices.Sorted(maps.Keys(before)) {
		old, now := before[id], after[id]
		kind := old["Type"].(string)
		switch {
		case now == nil:
			if slices.Contains(holding, kind) {
				say("%s (%s) is gone or has another logical id: what it holds is lost", id, kind)
			}
		case now["Type"] != kind:
			say("%s was a %s and is a %v: CloudFormation refuses to change a type", id, kind, now["Type"])
		case mayBeReplaced[id] != "":
			used[id] = used[id] || len(changed(old, now, known)) > 0
		default:
			for _, property := range changed(old, now, known) {
				say("%s (%s): a change of %s replaces it", id, kind, property)
			}
			if slices.Contains(holding, kind) && keeps(old) && !keeps(now) {
				say("%s (%s) was kept when its stack is removed, and is not any more", id, kind)
			}
			if kind == "AWS::DynamoDB::Table" {
				problems = append(problems, indexes(id, properties(old), properties(now))...)
			}
		}
	}
	names := map[string]string{}
	for id, r := range before {
		if after[id] == nil {
			names[identity(r, known)] = id
		}
	}
	for _, id := range slices.Sorted(maps.Keys(after)) {
		if name := identity(after[id], known); name != "" && before[id] == nil && names[name] != "" {
			say("%s has the name of %s, which CloudFormation removes after it has made others: the name is taken", id, names[name])
		}
	}
	return problems
}

// changed returns the properties whose values differ and cannot be changed in place.
func changed(old, now map[string]any, known schemas) (list []string) {
	kind := old["Type"].(string)
	for _, property := range slices.Concat(known.Types[kind].CreateOnly, fixed[kind]) {
		_, computed := properties(now)[property].(map[string]any)
		if computed && kind == "AWS::CloudWatch::Alarm" {
			continue // the names of a release's alarms contain its versions
		}
		if !reflect.DeepEqual(properties(old)[property], properties(now)[property]) {
			list = append(list, property)
		}
	}
	return list
}

func keeps(r map[string]any) bool {
	policy, _ := r["DeletionPolicy"].(string)
	return strings.HasPrefix(policy, "Retain")
}

// identity returns the literal name by which AWS knows a resource, alone or within another, or none if CloudFormation
// generates it.
func identity(r map[string]any, known schemas) string {
	kind, name := r["Type"].(string), ""
	of := known.Types[kind]
	for _, property := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(of.Identifier, of.CreateOnly)))) {
		if text, ok := properties(r)[property].(string); ok && (slices.Contains(of.Identifier, property) || strings.HasSuffix(property, "Name")) {
			name += " " + text
		}
	}
	if name == "" {
		return ""
	}
	return kind + name
}

// indexes returns the changes of a table's indexes that one update cannot make: DynamoDB adds or removes one index at a
// time and changes none.
func indexes(id string, old, now map[string]any) (problems []string) {
	of := func(p map[string]any, list, name string) map[string]any {
		all := map[string]any{}
		entries, _ := p[list].([]any)
		for _, e := range entries {
			all[e.(map[string]any)[name].(string)] = e
		}
		return all
	}
	before, after, changes := of(old, "GlobalSecondaryIndexes", "IndexName"), of(now, "GlobalSecondaryIndexes", "IndexName"), 0
	for name, index := range before {
		switch {
		case after[name] == nil:
			changes++
		case !reflect.DeepEqual(index, after[name]):
			problems = append(problems, fmt.Sprintf("%s: the index %s has changed: DynamoDB changes none, so give it another name", id, name))
		}
	}
	for name := range after {
		if before[name] == nil {
			changes++
		}
	}
	if changes > 1 {
		problems = append(problems, fmt.Sprintf("%s: %d indexes come or go: DynamoDB takes one in an update, so they need a release each", id, changes))
	}
	types := of(now, "AttributeDefinitions", "AttributeName")
	for name, attribute := range of(old, "AttributeDefinitions", "AttributeName") {
		if types[name] != nil && !reflect.DeepEqual(attribute, types[name]) {
			problems = append(problems, fmt.Sprintf("%s: the type of the attribute %s has changed, which DynamoDB refuses", id, name))
		}
	}
	return problems
}

// TestUpgradeProblems checks that TestUpgrade detects each kind of change that harms an upgrade, by planting them one
// by one.
func TestUpgradeProblems(t *testing.T) {
	t.Parallel()
	known, count := readSchemas(t), map[string]int{}
	try := func(what, want string, plant func(all map[string]any)) {
		to := readTemplate(t)
		plant(to["Resources"].(map[string]any))
		if problems := strings.Join(upgrade(readTemplate(t), to, known, map[string]bool{}), "\n"); !strings.Contains(problems, want) || (want == "") != (problems == "") {
			t.Errorf("%s: %q, want %q", what, problems, want)
		}
	}
	try("nothing", "", func(map[string]any) {})
	for id, r := range resources(readTemplate(t)) {
		kind := r["Type"].(string)
		for _, property := range slices.Concat(known.Types[kind].CreateOnly, fixed[kind]) {
			count[kind]++
			try(id, id+" ("+kind+"): a change of "+property+" replaces it", func(all map[string]any) { set(all, id, property, "planted") })
		}
		if slices.Contains(holding, kind) {
			try(id, id+" ("+kind+") is gone", func(all map[string]any) { delete(all, id) })
			try(id, "was a "+kind, func(all map[string]any) { all[id].(map[string]any)["Type"] = "AWS::SSM::Parameter" })
			count["holding "+kind]++
		}
		if keeps(r) && slices.Contains(holding, kind) {
			try(id, "not any more", func(all map[string]any) { all[id].(map[string]any)["DeletionPolicy"] = "Delete" })
			count["kept"]++
		}
		if identity(r, known) != "" {
			try(id, "Renamed has the name of "+id, func(all map[string]any) {
				all["Renamed"] = all[id]
				delete(all, id)
			})
			count["named"]++
		}
		if kind != "AWS::DynamoDB::Table" {
			continue
		}
		index := func(name string) map[string]any {
			return map[string]any{"IndexName": name, "KeySchema": []any{}, "Projection": map[string]any{"ProjectionType": "KEYS_ONLY"}}
		}
		all := properties(r)["GlobalSecondaryIndexes"].([]any)
		try("an index more", "", func(m map[string]any) { set(m, id, "GlobalSecondaryIndexes", append(slices.Clone(all), index("one"))) })
		try("an index less", "", func(m map[string]any) { set(m, id, "GlobalSecondaryIndexes", all[1:]) })
		try("two indexes more", "2 indexes come or go", func(m map[string]any) {
			set(m, id, "GlobalSecondaryIndexes", append(slices.Clone(all), index("one"), index("two")))
		})
		try("another index", "2 indexes come or go", func(m map[string]any) {
			set(m, id, "GlobalSecondaryIndexes", append(slices.Clone(all[1:]), index("one")))
		})
		name := all[0].(map[string]any)["IndexName"].(string)
		try("a changed index", "the index "+name+" has changed", func(m map[string]any) {
			set(m, id, "GlobalSecondaryIndexes", append(slices.Clone(all[1:]), index(name)))
		})
		attribute := properties(r)["AttributeDefinitions"].([]any)[0].(map[string]any)["AttributeName"].(string)
		try("another type", "the type of the attribute "+attribute, func(m map[string]any) {
			set(m, id, "AttributeDefinitions", []any{map[string]any{"AttributeName": attribute, "AttributeType": "B"}})
		})
	}
	for _, kind := range holding {
		if count["holding "+kind] == 0 {
			t.Errorf("no %s is in %s", kind, released)
		}
	}
	if len(count) < 30 || count["kept"] < 3 || count["named"] < 20 {
		t.Errorf("planted: %v", count)
	}
}

func set(all map[string]any, id, property string, value any) {
	all[id].(map[string]any)["Properties"].(map[string]any)[property] = value
}
