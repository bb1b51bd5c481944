package deployment

import (
	"encoding/csv"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"

	"zerodag/infra/settings"
)

// excused are findings of cdk-nag that are not mended, by rule and by what the names of resources
// begin with, and why.
func excused() map[[2]string]string {
	return map[[2]string]string{
		{"AwsSolutions-S1", "Stack/Archives"}:                 "a log of requests would be a third bucket that grows for ever; only functions of the stack read this one, by roles, and links are for one object",
		{"AwsSolutions-S1", "Stack/Logs"}:                     "as for the archives",
		{"AwsSolutions-S10", "Stack/Archives/Policy"}:         "the policy demands TLS (TestStack/importable); it has the literal name of its bucket, which the rule does not follow",
		{"AwsSolutions-S10", "Stack/Logs/Policy"}:             "as for the archives",
		{"AwsSolutions-SQS3", "Stack/StartsDead"}:             "it is a dead-letter queue itself: of rules and of the tick, which the rule does not look at",
		{"AwsSolutions-APIG4", "Stack/Api/ANY--{path+}"}:      "the API looks at its tokens itself: roles and sites are more than an authorizer knows",
		{"AwsSolutions-APIG4", "Stack/Api/GET--"}:             "the web console is the same for everybody: what it shows it asks the API for",
		{"AwsSolutions-APIG4", "Stack/Api/GET--api--"}:        "an event stream, as all of the API",
		{"AwsSolutions-APIG4", "Stack/Api/ANY--runner--"}:     "machines show a token of their own, which the function looks at",
		{"AwsSolutions-ECS4", "Stack/Cluster"}:                "Container Insights cost for each machine and metric; machines live for minutes, and tell their state to the engine",
		{"AwsSolutions-VPC7", "Stack/CommandNetwork"}:         "flow logs have a price for each gigabyte; nothing comes into this network. Who wants them names a VPC of their own",
		{"AwsSolutions-COG2", "Stack/People"}:                 "setting cognitoMfa: required demands a second factor; by default people choose one",
		{"AwsSolutions-COG3", "Stack/People"}:                 "threat protection has a price for each user (the Plus tier); passwords are long, and nobody signs up",
		{"AwsSolutions-SMG4", "Stack/PeopleSecret"}:           "Cognito gives a client one secret for its life: a new one is a new client, by a deploy",
		{"AwsSolutions-IAM5", "Stack/RunnerExecution"}:        "images come from the repositories of setting repositories, all of the account by default; a token of the registry has no resource",
		{"AwsSolutions-IAM5", "Stack/apiRole/DefaultPolicy"}:  "objects below prefixes, indexes of the table, parameters of the stage: all of the stack (TestStack/rights holds the rest)",
		{"AwsSolutions-IAM5", "Stack/runnersRole/"}:           "as for the API",
		{"AwsSolutions-IAM5", "Stack/uploadRole/"}:            "as for the API",
		{"AwsSolutions-IAM5", "Stack/tickRole/DefaultPolicy"}: "as for the API; task definitions have names of digests",
		{"AwsSolutions-IAM5", "Stack/executorRole/"}:          "as for the API",
		{"AwsSolutions-IAM5", "Stack/agentRole/"}:             "as for the tick",
	}
}

// TestNag proves that the rules of AwsSolutions find nothing but what is excused here, and that what
// is excused is still found.
func TestNag(t *testing.T) {
	defer jsii.Close()
	out := t.TempDir()
	app := awscdk.NewApp(&awscdk.AppProps{Outdir: &out, Context: &map[string]any{"@aws-cdk/core:newStyleStackSynthesis": true, "@aws-cdk/aws-iam:minimizePolicies": true}})
	stack := awscdk.NewStack(app, jsii.String("Stack"), &awscdk.StackProps{Env: where})
	s := settings.Default("main")
	s.Cognito = true
	if _, err := New(stack, s, programs(t)); err != nil {
		t.Fatal(err)
	}
	awscdk.Aspects_Of(app).Add(cdknag.NewAwsSolutionsChecks(nil), nil)
	app.Synth(nil)
	file, err := os.Open(filepath.Join(out, "AwsSolutions-Stack-NagReport.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil || len(rows) < 60 {
		t.Fatalf("%d rows of the report, %v", len(rows), err)
	}
	why := excused()
	left := maps.Clone(why)
	for _, r := range rows[1:] {
		rule, resource, compliance := r[0], r[1], r[2]
		if compliance == "Compliant" || compliance == "N/A" {
			continue
		}
		found := false
		for key := range why {
			if key[0] == rule && strings.HasPrefix(resource, key[1]) {
				found = true
				delete(left, key)
			}
		}
		if !found {
			t.Errorf("%s: %s: %s (%s)", rule, resource, r[len(r)-1], compliance)
		}
	}
	for _, key := range slices.Collect(maps.Keys(left)) {
		t.Errorf("%s of %s is not found any more: do not excuse it", key[0], key[1])
	}
}
