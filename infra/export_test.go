package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCleanExport checks that the CDK's command line can deploy from the files of the repository alone: no command has
// to run first, and no file in the user's home is needed. The CDK's command line is the one in infra/_cdk.
func TestCleanExport(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("NOT RUN: short")
	}
	cdk, err := filepath.Abs("_cdk/node_modules/.bin/cdk")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(cdk); errors.Is(err, os.ErrNotExist) {
		if strings.Contains(os.Getenv("REQUIRE"), "cdk") {
			t.Fatal(err)
		}
		t.Skip("NOT RUN: the CDK is not installed: make cdk")
	}
	folder := export(t)
	home := t.TempDir()
	// The addresses of registries and their certificates belong to the machine.
	environment := slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return slices.ContainsFunc([]string{"AWS_", "CDK_", "XDG_", "ZERODAG_"}, func(prefix string) bool { return strings.HasPrefix(variable, prefix) })
	})
	environment = append(environment, "HOME="+home, "CI=1", "CDK_DISABLE_CLI_TELEMETRY=true", "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=1", "AWS_EC2_METADATA_DISABLED=true")
	for variable, command := range map[string][]string{"GOMODCACHE": {"go", "env", "GOMODCACHE"}, "GOCACHE": {"go", "env", "GOCACHE"}, "GOPROXY": {"go", "env", "GOPROXY"}, "GOFLAGS": {"go", "env", "GOFLAGS"},
		"npm_config_cache": {"npm", "config", "get", "cache"}, "npm_config_registry": {"npm", "config", "get", "registry"}} {
		out, err := exec.Command(command[0], command[1:]...).Output()
		if err != nil {
			t.Fatalf("%v: %v", command, err)
		}
		environment = append(environment, variable+"="+strings.TrimSpace(string(out)))
	}
	run := func(more []string, program string, arguments ...string) (string, error) {
		c := exec.Command(program, arguments...)
		c.Dir, c.Env = folder, append(environment, more...)
		out, err := c.CombinedOutput()
		return string(out), err
	}
	there := func(name string) bool {
		_, err := os.Stat(filepath.Join(folder, name))
		return err == nil
	}

	out, err := run([]string{`CDK_CONTEXT_JSON={"aws:cdk:bundling-stacks":[]}`, "CDK_OUTDIR=" + t.TempDir()}, "go", "run", "./infra")
	if err != nil || there("bin") || there("ui/dist/page") {
		t.Errorf("commands that deploy nothing wait for programs (%v): %v\n%s", there("bin"), err, out)
	}
	without := t.TempDir()
	if err := os.WriteFile(filepath.Join(without, "make"), []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err = run([]string{"PATH=" + without + ":" + os.Getenv("PATH"), "CDK_OUTDIR=" + t.TempDir()}, "go", "run", "./infra")
	if err == nil || !strings.Contains(out, "moment.js or the web console is not built: run make assets") || there("bin/functions") {
		t.Errorf("programs are built without what they embed: %v\n%s", err, out)
	}
	out, err = run(nil, cdk, "synth", "--quiet", "--no-notices")
	if err != nil {
		t.Fatalf("cdk synth: %v\n%s", err, out)
	}
	moment, err := os.ReadFile(filepath.Join(folder, "engine/expr/assets/dist/moment.min.js"))
	if err != nil || len(moment) < 10_000 {
		t.Fatalf("moment.js is %d bytes: %v", len(moment), err)
	}
	page, err := os.ReadFile(filepath.Join(folder, "ui/dist/page/index.html"))
	if err != nil {
		t.Fatal(err)
	}
	for program, embedded := range map[string][]byte{"bin/functions/executor/evaluator": moment, "bin/functions/api/bootstrap": page} {
		text, err := os.ReadFile(filepath.Join(folder, program))
		if err != nil || !bytes.Contains(text, embedded) {
			t.Errorf("%s was built without what it embeds: %v", program, err)
		}
	}
}

// export copies the files that git knows, in their current state, into a new folder.
func export(t *testing.T) string {
	t.Helper()
	c := exec.Command("git", "ls-files", "-z")
	c.Dir = ".."
	out, err := c.Output()
	if err != nil {
		t.Skip("NOT RUN: this is no working tree of git:", err)
	}
	folder := t.TempDir()
	for name := range strings.SplitSeq(strings.Trim(string(out), "\x00"), "\x00") {
		from, to := filepath.Join("..", name), filepath.Join(folder, name)
		info, err := os.Lstat(from)
		if errors.Is(err, os.ErrNotExist) {
			continue // it was removed
		}
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o755)
		}
		if err == nil && info.Mode()&os.ModeSymlink != 0 {
			var target string
			if target, err = os.Readlink(from); err == nil {
				err = os.Symlink(target, to)
			}
		} else if err == nil {
			var text []byte
			if text, err = os.ReadFile(from); err == nil {
				err = os.WriteFile(to, text, info.Mode().Perm())
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return folder
}
