package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/magiconair/properties"
	"github.com/spf13/cobra"

	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/internal/files"
)

// commonFlags are those that every command has.
type commonFlags struct {
	config     string
	logPath    string
	logLevel   string
	logback    string
	system     []string
	params     []string
	paramsFile string
	override   []pair // of a command's own flags, over everything
}

func (f *commonFlags) register(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVarP(&f.config, "config", "c", "", "configuration `FILE` (default: ~/.config/digdag/config)")
	flags.StringVarP(&f.logPath, "log", "L", "-", "append log messages to this `FILE`; \"-\" is stdout")
	flags.StringVarP(&f.logLevel, "log-level", "l", "info", "`LEVEL`: error, warn, info, debug or trace")
	flags.StringVar(&f.logback, "logback-config", "", "accepted for compatibility, without effect")
	flags.StringArrayVarP(&f.system, "property", "X", nil, "set a configuration key: `KEY=VALUE`")
	flags.SortFlags = false
}

func (f *commonFlags) registerParams(c *cobra.Command) {
	c.Flags().StringArrayVarP(&f.params, "param", "p", nil, "set a parameter: `KEY=VALUE[,KEY=VALUE...]` (may be repeated)")
	c.Flags().StringVarP(&f.paramsFile, "params-file", "P", "", "read parameters from a YAML `FILE`")
}

// settings is the configuration of all sources, later ones over earlier ones.
type settings map[string]string

// load reads the default file, the environment, -X and -c in the original's order. A key that is a slip of a known
// one is an error.
func (f *commonFlags) load() (settings, error) {
	s := settings{}
	if f.config == "" {
		if err := s.addFile(filepath.Join(configFolder(), "config"), true); err != nil {
			return nil, err
		}
	}
	if err := s.addText("environment variable DIGDAG_CONFIG", os.Getenv("DIGDAG_CONFIG")); err != nil {
		return nil, err
	}
	maps.Copy(s, f.flagged())
	if f.config != "" {
		if err := s.addFile(f.config, false); err != nil {
			return nil, err
		}
	}
	for _, p := range f.override {
		s[p.key] = p.value
	}
	return s, s.misspelt()
}

// beaten says which of -X have no effect because the file of -c has their keys, as in the original.
func (f *commonFlags) beaten(s settings) (notes []string) {
	given := f.flagged()
	for _, key := range sortedKeys(given) {
		if f.config != "" && s[key] != given[key] {
			notes = append(notes, fmt.Sprintf("-X %s has no effect: %s has that key, and a file of -c comes after -X", key, f.config))
		}
	}
	return notes
}

// flagged are the keys that -X sets.
func (f *commonFlags) flagged() settings {
	s := settings{}
	for _, pair := range f.system {
		k, v, ok := strings.Cut(pair, "=")
		if !ok {
			v = "true"
		}
		s[k] = v
	}
	return s
}

// configFolder is where the configuration file and local secrets are.
func configFolder() string {
	if dir := os.Getenv("DIGDAG_CONFIG_HOME"); dir != "" {
		return dir
	}
	if dir := os.Getenv("XDG_CONFIG_HOME"); dir != "" {
		return filepath.Join(dir, "digdag")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".config", "digdag")
}

func (s settings) addFile(name string, optional bool) error {
	text, err := os.ReadFile(name)
	if os.IsNotExist(err) && optional {
		return nil
	}
	if err != nil && !optional {
		return noConfig(err)
	}
	if err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	return s.addText(name, string(text))
}

func noConfig(err error) error {
	return fmt.Errorf("read configuration: %w\nhint: -c, --config names a file of lines such as `server.port = 65432`", err)
}

// readable says whether a file can be read, without reading it: a pipe is read only once.
func readable(name string) error {
	info, err := os.Stat(name)
	var path *fs.PathError
	switch {
	case errors.As(err, &path):
		return &fs.PathError{Op: "open", Path: name, Err: path.Err}
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a folder: name a file", name)
	}
	return nil
}

func (s settings) addText(source, text string) error {
	loader := properties.Loader{Encoding: properties.UTF8, DisableExpansion: true}
	p, err := loader.LoadBytes([]byte(text))
	if err != nil {
		return fmt.Errorf("configuration in %s: %w (it must be Java properties: key = value)", source, err)
	}
	for _, k := range p.Keys() {
		s[k], _ = p.Get(k)
	}
	return nil
}

// integer reads a whole number; otherwise when the key is absent.
func (s settings) integer(key string, otherwise int) (int, error) {
	text, ok := s[key]
	if !ok {
		return otherwise, nil
	}
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 0 {
		return 0, fmt.Errorf("configuration key %s must be a whole number but is %q", key, text)
	}
	return n, nil
}

// below returns the keys under prefix as a tree.
func (s settings) below(prefix string) (*param.Map, error) {
	var pairs []pair
	for _, k := range sortedKeys(s) {
		if rest, ok := strings.CutPrefix(k, prefix); ok && rest != "" {
			pairs = append(pairs, pair{rest, s[k]})
		}
	}
	return nested(param.New(), pairs)
}

// parameters merges those of the configuration, of -P and of -p, later ones over earlier.
func (f *commonFlags) parameters(s settings) (*param.Map, error) {
	m, err := s.below("params.")
	if err != nil {
		return nil, err
	}
	if f.paramsFile != "" {
		if err := readable(f.paramsFile); err != nil && !asDigdag() {
			if errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("read parameters of --params-file: there is no file %s, seen from the current folder", f.paramsFile)
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
	pairs, err := splitPairs("--param", f.params)
	if err != nil {
		return nil, err
	}
	if err := checkNames(pairs); err != nil {
		return nil, err
	}
	return nested(m.Clone(), pairs)
}

// checkNames refuses parameters that nothing can name. The original takes them, and nobody ever reads them.
func checkNames(pairs []pair) error {
	for _, p := range pairs {
		for part := range strings.SplitSeq(p.key, ".") {
			if (part == "" || strings.TrimSpace(part) != part) && !asDigdag() {
				return usageError{fmt.Errorf("--param %s=%s: %q is no name of a parameter: it must be of the form KEY=VALUE, without blanks around KEY", p.key, p.value, p.key)}
			}
		}
	}
	return nil
}

// projectPath is the parameter that names the project's folder where that is not the current one.
const projectPath = "_project_path"

// parametersOf are those of a project that is read where it is.
func (f *commonFlags) parametersOf(s settings, project files.Project) (*param.Map, error) {
	m, err := f.parameters(s)
	if err != nil {
		return nil, err
	}
	here, err := openProject("")
	if err != nil {
		return nil, err
	}
	if here.Root() != project.Root() {
		m = m.Clone()
		m.Set(projectPath, project.Root())
	}
	return m, nil
}

// paramServerNote warns of a store of parameters that is configured, but not used. It is "" where
// there is none.
func paramServerNote(s settings) string {
	keys, err := s.below("param_server.")
	if err != nil || keys.Len() == 0 {
		return ""
	}
	return "The configuration keys param_server.* are not used: param_set> and param_get> of a run keep their values in .digdag/params of the project"
}

// nested sets pairs; dots in keys make mappings.
func nested(m *param.Map, pairs []pair) (*param.Map, error) {
	for _, p := range pairs {
		var err error
		if m, err = setPath(m, strings.Split(p.key, "."), p.value, p.key); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func setPath(m *param.Map, path []string, v, whole string) (*param.Map, error) {
	m = m.Clone()
	if len(path) == 1 {
		m.Set(path[0], v)
		return m, nil
	}
	old, there := m.Get(path[0])
	sub, isMap := old.(*param.Map)
	if there && !isMap {
		return nil, fmt.Errorf("Parameter '%s' is set but '%s' is not a object (%s)", whole, path[0], param.Text(old))
	}
	if sub == nil {
		sub = param.New()
	}
	sub, err := setPath(sub, path[1:], v, whole)
	m.Set(path[0], sub)
	return m, err
}

// logWriter opens where log messages go.
func (f *commonFlags) logWriter(s streams) (io.Writer, func() error, error) {
	if f.logPath == "-" {
		return s.out, func() error { return nil }, nil
	}
	file, err := os.OpenFile(f.logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("open log: %w", err)
	}
	return file, file.Close, nil
}
