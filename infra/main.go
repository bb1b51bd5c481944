// Command infra is the CDK app: it describes everything that a deployment on AWS is made
// of. `cdk synth` and `cdk deploy` run it; it builds the functions' programs first.
//
// One file per concern. No package imports it, and it imports nothing of ours but the names
// that functions read.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"zerodag/internal/env"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "infra:", err)
		os.Exit(1)
	}
}

func run() error {
	defer jsii.Close()
	app := awscdk.NewApp(nil)
	s, err := readSettings(app.Node())
	if err != nil {
		return err
	}
	if err := buildFunctions(s); err != nil {
		return err
	}
	if _, err := newStack(app, s); err != nil {
		return err
	}
	app.Synth(nil)
	return nil
}

// buildFunctions builds the bootstraps that the template refers to, as reproducibly as Go
// can: the same source gives the same asset, so that only what changed is deployed.
func buildFunctions(s settings) error {
	for _, f := range functions() {
		if err := build("./functions/"+f.name, filepath.Join(s.Assets, f.name, "bootstrap"), goArchitecture(s.Architecture)); err != nil {
			return err
		}
		if !f.operators {
			continue
		}
		if err := build("./cmd/evaluator", filepath.Join(s.Assets, f.name, env.Evaluator), goArchitecture(s.Architecture)); err != nil {
			return err
		}
	}
	if err := buildCommandFunction(s); err != nil {
		return err
	}
	return build("./cmd/runner", filepath.Join(s.Assets, programFile), goArchitecture(s.CommandArchitecture))
}

func build(program, out, architecture string) error {
	c := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags", "lambda.norpc", "-ldflags", "-s -w -buildid=", "-o", out, program)
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+architecture)
	c.Stderr = os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("build %s: %w", program, err)
	}
	return nil
}
