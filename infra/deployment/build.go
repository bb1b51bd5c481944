package deployment

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"zerodag/infra/settings"
	"zerodag/internal/env"
)

// Build builds the programs that the template refers to into a folder, as reproducibly as Go can:
// the same source gives the same asset, so that only what changed is deployed. It runs the go
// command in the working folder, whose module is zerodag or requires it.
func Build(s settings.Settings, assets string) error {
	assets, err := filepath.Abs(assets)
	if err != nil {
		return fmt.Errorf("find the folder of programs: %w", err)
	}
	for _, f := range functions() {
		if err := build("zerodag/functions/"+f.name, filepath.Join(assets, f.name, "bootstrap"), s.Architecture); err != nil {
			return err
		}
		if !f.operators {
			continue
		}
		if err := build("zerodag/cmd/evaluator", filepath.Join(assets, f.name, env.Evaluator), s.Architecture); err != nil {
			return err
		}
	}
	if s.CommandFunction {
		if err := buildCommandFunction(s, assets); err != nil {
			return err
		}
	}
	if !s.HasMachines() {
		return nil
	}
	return build("zerodag/cmd/runner", filepath.Join(assets, programFile), s.CommandArchitecture)
}

func build(program, out, architecture string) error {
	if architecture == "x86_64" {
		architecture = "amd64"
	}
	c := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags", "lambda.norpc", "-ldflags", "-s -w -buildid=", "-o", out, program)
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+architecture)
	c.Stderr = os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("build %s: %w", program, err)
	}
	return nil
}
