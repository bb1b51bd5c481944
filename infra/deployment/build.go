package deployment

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"zerodag/infra/settings"
	"zerodag/internal/env"
	"zerodag/internal/materials"
)

// Build builds the programs that the template refers to into a folder, as reproducibly as Go can:
// the same source gives the same asset, so that only changed programs are deployed. It runs the go command in the
// working folder, whose module must be zerodag or require it. If files that the programs embed are missing, it builds
// nothing and returns ErrNoAssets.
func Build(s settings.Settings, assets string) error {
	if err := checkEmbedded(); err != nil {
		return err
	}
	assets, err := filepath.Abs(assets)
	if err != nil {
		return fmt.Errorf("locate the folder of programs: %w", err)
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
	if s.HasMicrovms() {
		if err := buildMicrovm(s, assets); err != nil {
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
	goCommand := func(arguments ...string) *exec.Cmd {
		c := exec.Command("go", arguments...)
		c.Env, c.Stderr = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+architecture), os.Stderr
		return c
	}
	if err := goCommand("build", "-trimpath", "-buildvcs=false", "-tags", tags, "-ldflags", "-s -w -buildid=", "-o", out, program).Run(); err != nil {
		return fmt.Errorf("build %s: %w", program, err)
	}
	linked, err := goCommand("list", "-deps", "-tags", tags, "-f", "{{.ImportPath}}\t{{.Dir}}", program).Output()
	if err != nil {
		return fmt.Errorf("list the modules linked into %s: %w", program, err)
	}
	return writeBill(program, out, string(linked))
}

// tags holds the build tags of the functions.
const tags = "lambda.norpc"

// writeBill writes a bill of materials next to a program, so it becomes part of the function's package. linked lists
// the packages that the program links, with their folders: packages in embedded have an npm lock file there.
func writeBill(program, out, linked string) error {
	var locks []string
	for line := range strings.Lines(linked) {
		name, folder, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if embedded[name] != "" {
			locks = append(locks, filepath.Join(folder, "package-lock.json"))
		}
	}
	text, err := materials.Bill(out, materials.Subject{Name: program}, locks...)
	if err != nil {
		return fmt.Errorf("write the bill of materials of %s: %w", program, err)
	}
	if err := os.WriteFile(out+".cdx.json", text, 0o600); err != nil {
		return fmt.Errorf("write the bill of materials of %s: %w", program, err)
	}
	return nil
}

// ErrNoAssets means that files are missing that npm provides and programs embed: Go would build the programs without
// them, so expressions would lack moment.js, and the API would lack the web console.
var ErrNoAssets = errors.New("moment.js or the web console is not built: run make assets in the repository")

// embedded holds the packages that embed files from npm, each with a file that must exist.
var embedded = map[string]string{"zerodag/engine/expr/assets": "dist/moment.min.js", "zerodag/ui": "dist/page/index.html"}

// checkEmbedded checks that the files that Go embeds into the programs exist.
func checkEmbedded() error {
	for of, file := range embedded {
		out, err := exec.Command("go", "list", "-f", "{{.Dir}}", of).Output()
		if err != nil {
			return fmt.Errorf("locate the package %s: %w", of, err)
		}
		file = filepath.Join(strings.TrimSpace(string(out)), file)
		if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%w (%s does not exist)", ErrNoAssets, file)
		} else if err != nil {
			return fmt.Errorf("look for %s: %w", file, err)
		}
	}
	return nil
}

// Placeholders writes an empty file in place of each program, for CDK commands that deploy nothing, such as bootstrap
// and destroy: they only list the stacks.
func Placeholders(assets string) error {
	files := []string{programFile, commandFunctionFolder + "/handler.py", microvmFolder + "/Dockerfile"}
	for _, f := range functions() {
		files = append(files, f.name+"/bootstrap")
	}
	for _, name := range files {
		file := filepath.Join(assets, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			return fmt.Errorf("write placeholders of programs: %w", err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			return fmt.Errorf("write placeholders of programs: %w", err)
		}
	}
	return nil
}
