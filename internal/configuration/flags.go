package configuration

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"zerodag/internal/program"
)

// Flags holds the options of every command, and the options that set parameters, which some commands have.
type Flags struct {
	Config     string
	LogPath    string
	LogLevel   string
	logback    string
	System     []string
	Params     []string
	paramsFile string
	Override   []Pair // from a command's other options, overriding everything else
}

// Register adds the options that every command has to a command's flags.
func (f *Flags) Register(flags *pflag.FlagSet) {
	flags.StringVarP(&f.Config, "config", "c", "", "configuration `FILE` (default: ~/.config/"+program.Called()+"/config)")
	flags.StringVarP(&f.LogPath, "log", "L", "-", "append log messages to this `FILE`; \"-\" is stdout")
	flags.StringVarP(&f.LogLevel, "log-level", "l", "info", "`LEVEL`: error, warn, info, debug or trace")
	flags.StringVar(&f.logback, "logback-config", "", "accepted for compatibility, without effect")
	flags.StringArrayVarP(&f.System, "property", "X", nil, "set a configuration key: `KEY=VALUE`")
	flags.SortFlags = false
}

// RegisterParams adds the options that set parameters.
func (f *Flags) RegisterParams(flags *pflag.FlagSet) {
	flags.StringArrayVarP(&f.Params, "param", "p", nil, "set a parameter: `KEY=VALUE[,KEY=VALUE...]` (may be repeated)")
	flags.StringVarP(&f.paramsFile, "params-file", "P", "", "read parameters from a YAML `FILE`")
}

// file returns the configuration file's path: the one that -c names, or the default.
func (f *Flags) file() string { return cmp.Or(f.Config, filepath.Join(Folder(), "config")) }

// Files returns the absolute paths of the files that Load reads: they may contain passwords.
func (f *Flags) Files() []string {
	if file, err := filepath.Abs(f.file()); err == nil {
		return []string{file}
	}
	return nil
}

// Load reads the default file, the environment, -X and -c in Digdag's order. A key that is a misspelling of a known one
// is an error.
func (f *Flags) Load() (Settings, error) {
	s := Settings{}
	if f.Config == "" {
		if err := s.addFile(f.file(), true); err != nil {
			return nil, err
		}
	}
	text, source := variable("CONFIG")
	if err := s.AddText("environment variable "+source, text); err != nil {
		return nil, err
	}
	maps.Copy(s, f.Flagged())
	if f.Config != "" {
		if err := s.addFile(f.Config, false); err != nil {
			return nil, err
		}
	}
	for _, p := range f.Override {
		s[p.Key] = p.Value
	}
	return s, s.misspelt()
}

// Readable returns a warning if every user of this machine can read a configuration file that contains passwords or
// keys; "" if not. The group may read it: a package gives the file to the server's group.
func (f *Flags) Readable(s Settings) string {
	path := f.file()
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS == "windows" || info.Mode().Perm()&0o004 == 0 {
		return ""
	}
	in := Settings{}
	if in.addFile(path, true) != nil { // it has been read before
		return ""
	}
	for _, key := range slices.Sorted(maps.Keys(in)) {
		if in[key] != "" && s[key] == in[key] && isSecret(key) {
			return fmt.Sprintf("every user of this machine can read %s, which contains %s: restrict it with `chmod o-rwx %s`", path, key, path)
		}
	}
	return ""
}

// Beaten returns a note for each -X that has no effect because, as in Digdag, the file of -c sets the same key.
func (f *Flags) Beaten(s Settings) (notes []string) {
	given := f.Flagged()
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if f.Config != "" && s[key] != given[key] {
			notes = append(notes, fmt.Sprintf("-X %s has no effect: %s sets the same key, and a file of -c overrides -X", key, f.Config))
		}
	}
	return notes
}

// Flagged returns the keys that -X sets.
func (f *Flags) Flagged() Settings {
	s := Settings{}
	for _, pair := range f.System {
		k, v, ok := strings.Cut(pair, "=")
		if !ok {
			v = "true"
		}
		s[k] = v
	}
	return s
}

// LogWriter opens the file that --log names, or returns out if it names none, and a function that closes it.
func (f *Flags) LogWriter(out io.Writer) (io.Writer, func() error, error) {
	if f.LogPath == "-" {
		return out, func() error { return nil }, nil
	}
	file, err := os.OpenFile(f.LogPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("open log: %w", err)
	}
	return file, file.Close, nil
}
