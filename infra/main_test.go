package main

import (
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

// TestGiven checks which context parameters are the user's and which are the CDK's.
func TestGiven(t *testing.T) {
	defer jsii.Close()
	app := awscdk.NewApp(&awscdk.AppProps{Outdir: jsii.String(t.TempDir()), Context: &map[string]any{
		"stgae": "test", "memory": 512, "@aws-cdk/core:x": true, "aws:cdk:enable-path-metadata": true, "vpc-provider:account=1:region=x": map[string]any{}, "cli-telemetry": false}})
	got := given(app.Node())
	if got["stgae"] != "test" || got["memory"] != "512" || len(got) != 2 {
		t.Errorf("%v", got)
	}
}
