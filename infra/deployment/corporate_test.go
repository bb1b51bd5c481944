package deployment

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"zerodag/infra/settings"
)

const customerKey = "arn:aws:kms:eu-central-1:111111111111:key/11111111-2222-3333-4444-555555555555"

// demanding changes the settings to those of a company with strict rules: a customer key, a private registry, a custom
// domain as the only address of the API, logs for a year.
func demanding(s *settings.Settings) {
	s.KMSKey, s.CloudWatchDays, s.Tags = customerKey, 365, map[string]string{"team": "data"}
	s.Domain, s.Certificate, s.MachinesURL, s.DomainOnly = "flows.example.com", "arn:aws:acm:eu-central-1:111111111111:certificate/x", "domain", true
	s.FetchImage, s.PullThrough = "111111111111.dkr.ecr.eu-central-1.amazonaws.com/ecr-public/docker/library/alpine:3.22", []string{"ecr-public"}
	s.Repositories = []string{"own-*", "arn:aws:ecr:eu-central-1:222222222222:repository/team/*"}
	s.CommandFunction, s.Cognito, s.Traces = true, true, settings.XRay
}

// keyOf holds, for each kind of resource that stores data, the path of the property that names its key.
var keyOf = map[string][]string{
	"AWS::DynamoDB::Table":        {"SSESpecification", "KMSMasterKeyId"},
	"AWS::S3::Bucket":             {"BucketEncryption", "ServerSideEncryptionConfiguration", "0", "ServerSideEncryptionByDefault", "KMSMasterKeyID"},
	"AWS::SQS::Queue":             {"KmsMasterKeyId"},
	"AWS::SNS::Topic":             {"KmsMasterKeyId"},
	"AWS::Logs::LogGroup":         {"KmsKeyId"},
	"AWS::Events::EventBus":       {"KmsKeyIdentifier"},
	"AWS::SecretsManager::Secret": {"KmsKeyId"},
	"AWS::ECS::Cluster":           {"Configuration", "ManagedStorageConfiguration", "FargateEphemeralStorageKmsKeyId"},
	"AWS::Lambda::Function":       {"KmsKeyArn"},
}

// corporate checks a stage whose account has strict rules.
func corporate(t *testing.T, m map[string]any) {
	seen, writers := map[string]int{}, 0
	for name, r := range resources(m) {
		kind, p := r["Type"].(string), properties(r)
		seen[kind]++
		if path := keyOf[kind]; path != nil && (kind != "AWS::Lambda::Function" || p["Environment"] != nil) {
			if got := at(p, path); got != customerKey {
				t.Errorf("%s (%s) is encrypted by %v", name, kind, got)
			}
		}
		switch kind {
		case "AWS::Logs::LogGroup":
			if p["RetentionInDays"] != 365.0 {
				t.Errorf("%s keeps logs for %v days", name, p["RetentionInDays"])
			}
		case "AWS::ApiGatewayV2::Api":
			if p["DisableExecuteApiEndpoint"] != true {
				t.Error("the API answers at its own address as well")
			}
		case "AWS::Lambda::Function":
			told(t, name, p)
		case "AWS::IAM::Policy":
			if strings.Contains(fmt.Sprint(p["PolicyDocument"]), "xray:PutSpans") {
				writers++
			}
			statementsOf(t, name, r)
		}
	}
	for kind := range keyOf {
		if seen[kind] == 0 {
			t.Errorf("there is no %s: the key was not looked for", kind)
		}
	}
	if writers != 4 { // the ones that end attempts: api, tick, executor, agent
		t.Errorf("%d functions may write spans", writers)
	}
	if url := fmt.Sprint(m["Outputs"].(map[string]any)["Url"]); !strings.Contains(url, "https://flows.example.com") {
		t.Errorf("the address that people get is %s", url)
	}
}

// at follows a path through objects and lists.
func at(v any, path []string) any {
	for _, step := range path {
		switch x := v.(type) {
		case map[string]any:
			v = x[step]
		case []any:
			v = x[0]
		default:
			return nil
		}
	}
	return v
}

// told checks a function's settings for machines.
func told(t *testing.T, name string, p map[string]any) {
	environment, _ := p["Environment"].(map[string]any)
	if environment == nil {
		return // the command function gets no settings
	}
	if where := environment["Variables"].(map[string]any)["ZERODAG_TRACES"]; where != "xray" {
		t.Errorf("%s sends traces to %v", name, where)
	}
	if key := environment["Variables"].(map[string]any)["ZERODAG_KMS_KEY"]; key != customerKey {
		t.Errorf("%s encrypts parameters by %v", name, key)
	}
	text := fmt.Sprint(environment)
	for _, want := range []string{`"url":"https://flows.example.com"`, `ecr-public/docker/library/alpine:3.22"`, `"tags":{"team":"data"}`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not told %s: %s", name, want, text)
		}
	}
}

// statementsOf checks the rights that these settings add.
func statementsOf(t *testing.T, name string, r map[string]any) {
	for _, s := range statements(r) {
		actions, on := texts(s["Action"]), strings.Join(texts(s["Resource"]), " ")
		switch {
		case slices.Contains(actions, "ecr:CreateRepository"):
			if !strings.Contains(on, "repository/ecr-public/*") || strings.Contains(on, "own-") {
				t.Errorf("%s may make repositories %s", name, on)
			}
		case slices.Contains(actions, "ecr:BatchGetImage"):
			for _, want := range []string{"repository/own-*", "arn:aws:ecr:eu-central-1:222222222222:repository/team/*", "repository/ecr-public/*"} {
				if !strings.Contains(on, want) {
					t.Errorf("%s may not pull from %s", name, want)
				}
			}
		case slices.Contains(actions, "ecs:TagResource"):
			if !strings.Contains(fmt.Sprint(s["Condition"]), "ecs:CreateAction:[RunTask RegisterTaskDefinition]") {
				t.Errorf("%s may tag what there is: %v", name, s["Condition"])
			}
		case slices.Contains(actions, "kms:GenerateDataKey") && strings.Contains(on, customerKey):
			if !strings.Contains(fmt.Sprint(s["Condition"]), "kms:ViaService") && !strings.Contains(name, "Execution") {
				t.Errorf("%s may use the key by itself", name)
			}
		}
	}
}
