package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

// TestWarehouse checks that a deployment fits into a stack of a user's app: along with the app's resources, without
// name collisions, and with a rule of the app that starts a workflow.
func TestWarehouse(t *testing.T) {
	defer jsii.Close()
	assets, out := t.TempDir(), t.TempDir()
	for _, name := range []string{"api/bootstrap", "upload/bootstrap", "tick/bootstrap", "executor/bootstrap", "agent/bootstrap", "runners/bootstrap", "runner/runner"} {
		file := filepath.Join(assets, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	app := awscdk.NewApp(&awscdk.AppProps{Outdir: &out})
	env := &awscdk.Environment{Account: jsii.String("111111111111"), Region: jsii.String("eu-central-1")}
	if err := addWarehouse(app, env, flows(), assets); err != nil {
		t.Fatal(err)
	}
	app.Synth(nil)
	text, err := os.ReadFile(filepath.Join(out, "Warehouse.template.json"))
	if err != nil {
		t.Fatal(err)
	}
	var template struct {
		Resources map[string]struct {
			Type       string
			Properties map[string]any
		}
	}
	if err := json.Unmarshal(text, &template); err != nil {
		t.Fatal(err)
	}
	count, starts := map[string]int{}, 0
	for name, r := range template.Resources {
		count[r.Type]++
		if strings.HasPrefix(name, "Load") && r.Type == "AWS::Events::Rule" {
			target, _ := json.Marshal(r.Properties["Targets"])
			if strings.Contains(string(target), "Flowstick") && strings.Contains(string(target), "DeadLetterConfig") {
				starts++
			}
		}
	}
	if count["AWS::S3::Bucket"] != 3 || count["AWS::DynamoDB::Table"] != 1 || count["AWS::Events::Rule"] != 4 || starts != 1 {
		t.Errorf("%v, %d rules start a workflow", count, starts)
	}
	if !strings.Contains(string(text), `"zerodag-warehouse-table"`) {
		t.Error("the table has no name by which a later stack imports it")
	}
}
