package configuration

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/internal/program"
	oprun "zerodag/operators/run"
)

// Parameters returns the parameters from the configuration, from -P and from -p; later ones override earlier ones.
func (f *Flags) Parameters(s Settings) (*param.Map, error) {
	m, err := s.Below("params.")
	if err != nil {
		return nil, err
	}
	if f.paramsFile != "" {
		if err := readable(f.paramsFile); err != nil && !program.AsDigdag() {
			if errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("read parameters of --params-file: file %s does not exist (relative to the current folder)", f.paramsFile)
			}
			return nil, fmt.Errorf("read parameters of --params-file: %w", err)
		}
		dir, name := filepath.Split(f.paramsFile)
		read := func(file string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, file)) }
		fromFile, err := dig.LoadFile(read, name)
		if err != nil {
			return nil, err
		}
		m = param.Merge(m, fromFile)
	}
	pairs, err := SplitPairs("--param", f.Params)
	if err != nil {
		return nil, err
	}
	if err := checkNames(pairs); err != nil {
		return nil, err
	}
	return nested(m.Clone(), pairs)
}

// checkNames refuses parameters with names that no expression can use. Digdag accepts them, but they can never be read.
func checkNames(pairs []Pair) error {
	for _, p := range pairs {
		for part := range strings.SplitSeq(p.Key, ".") {
			if (part == "" || strings.TrimSpace(part) != part) && !program.AsDigdag() {
				return program.UsageError(fmt.Errorf("--param %s=%s: %q is not a valid parameter name: write KEY=VALUE without spaces around KEY", p.Key, p.Value, p.Key))
			}
		}
		if name, _, _ := strings.Cut(p.Key, "."); slices.Contains(oprun.FixedNames(), name) && !program.AsDigdag() {
			hint := "choose another name"
			if strings.HasPrefix(name, "session_") {
				hint = "--session selects the session"
			}
			return program.UsageError(fmt.Errorf("--param %s=%s: %s is a built-in variable, which parameters cannot override: %s", p.Key, p.Value, name, hint))
		}
	}
	return nil
}

// ProjectPath is the parameter that names the project's folder if that is not the current one.
const ProjectPath = "_project_path"

// ParametersAt returns the parameters for a project that is read from its folder, root.
func (f *Flags) ParametersAt(s Settings, root string) (*param.Map, error) {
	m, err := f.Parameters(s)
	if err != nil {
		return nil, err
	}
	here, err := filepath.Abs(".")
	if err != nil {
		return nil, fmt.Errorf("find the current folder: %w", err)
	}
	if here != root {
		m = m.Clone()
		m.Set(ProjectPath, root)
	}
	return m, nil
}
