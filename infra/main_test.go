package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

// TestStages proves which settings a stage has: those of its file, and then what parameters say.
// A stage or a parameter that is mistyped deploys nothing.
func TestStages(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "prod.yaml"), []byte("agents: 20\nmemory: 1024\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		parameters     map[string]string
		stage          string
		agents, memory int
		wrong          string
	}{
		{map[string]string{}, "main", 100, 512, ""},
		{map[string]string{"stage": "prod"}, "prod", 20, 1024, ""},
		{map[string]string{"stage": "prod", "memory": "256"}, "prod", 20, 256, ""},
		{map[string]string{"stage": "e2e", "file": "none", "agents": "4"}, "e2e", 4, 512, ""},
		{map[string]string{"stage": "prod", "file": "none"}, "prod", 100, 512, ""},
		{map[string]string{"stage": "prdo"}, "", 0, 0, "prdo.yaml"},
		{map[string]string{"stgae": "prod"}, "", 0, 0, `there is no setting "stgae"`},
		{map[string]string{"stage": "prod", "adopt": "true"}, "", 0, 0, `there is no setting "adopt"`},
		{map[string]string{"stage": "prod", "memory": "1"}, "", 0, 0, "memory must be"},
		{map[string]string{"file": "other"}, "", 0, 0, "file must be none"},
		{map[string]string{"stage": "../prod"}, "", 0, 0, "stage must be lower-case letters"},
	} {
		s, err := read(folder, x.parameters)
		if x.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), x.wrong) {
				t.Errorf("%v: %v, want %s", x.parameters, err, x.wrong)
			}
			continue
		}
		if err != nil || s.Stage != x.stage || s.Agents != x.agents || s.Memory != x.memory {
			t.Errorf("%v: %+v, %v", x.parameters, s, err)
		}
	}
}

// TestGiven proves which context is the user's and which is the CDK's.
func TestGiven(t *testing.T) {
	defer jsii.Close()
	app := awscdk.NewApp(&awscdk.AppProps{Outdir: jsii.String(t.TempDir()), Context: &map[string]any{
		"stgae": "test", "memory": 512, "@aws-cdk/core:x": true, "aws:cdk:enable-path-metadata": true, "vpc-provider:account=1:region=x": map[string]any{}, "cli-telemetry": false}})
	got := given(app.Node())
	if got["stgae"] != "test" || got["memory"] != "512" || len(got) != 2 {
		t.Errorf("%v", got)
	}
}
