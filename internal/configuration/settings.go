package configuration

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/magiconair/properties"

	"zerodag/engine/param"
	"zerodag/internal/program"
)

// Settings is the configuration from all sources; later sources override earlier ones.
type Settings map[string]string

// Folder returns the folder that contains the configuration file, contexts and local secrets. If the user has no home
// folder, that folder does not exist: with a relative name, files in the current folder would be read, which may be
// anyone's project. Digdag's folder stays in use until the other one contains our files. The two are never mixed.
func Folder() string {
	if dir, _ := variable("CONFIG_HOME"); dir != "" {
		return dir
	}
	all := os.Getenv("XDG_CONFIG_HOME")
	if all == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			home = filepath.Join(string(filepath.Separator), "nonexistent")
		}
		all = filepath.Join(home, ".config")
	}
	return folderIn(all, program.Called())
}

// folderIn returns the folder in use below all, which contains every program's configuration; first is the name of the
// preferred folder.
func folderIn(all, first string) string {
	for _, name := range []string{first, program.Name, "digdag"} {
		if inUse(filepath.Join(all, name)) {
			return filepath.Join(all, name)
		}
	}
	return filepath.Join(all, first)
}

// inUse reports whether a folder contains our files. Users may keep other files there, such as a schema for their
// editor.
func inUse(folder string) bool {
	return slices.ContainsFunc([]string{"config", "context", "contexts", "secrets"}, func(name string) bool {
		_, err := os.Lstat(filepath.Join(folder, name))
		return err == nil
	})
}

// variable returns the value of ZERODAG_NAME or, if that is empty, of DIGDAG_NAME, and the name of the variable that
// was used.
func variable(name string) (value, source string) {
	source = "ZERODAG_" + name
	if value = os.Getenv(source); value == "" {
		source = "DIGDAG_" + name
		value = os.Getenv(source)
	}
	return value, source
}

func (s Settings) addFile(name string, optional bool) error {
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
	return s.AddText(name, string(text))
}

// CheckFile returns an error if the file of --config cannot be read.
func CheckFile(name string) error {
	if err := readable(name); err != nil {
		return noConfig(err)
	}
	return nil
}

func noConfig(err error) error {
	return fmt.Errorf("read configuration: %w\nhint: -c, --config names a file with lines such as `server.port = 65432`", err)
}

// readable reports whether a file can be read, without reading it: a pipe is read only once.
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

// AddText adds the keys from text in Java properties format, replacing existing ones. Errors name the source.
func (s Settings) AddText(source, text string) error {
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

// Integer reads a whole number that is at least 0; it returns otherwise if the key is absent.
func (s Settings) Integer(key string, otherwise int) (int, error) {
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

// Below returns the keys below a prefix as a tree, in which dots separate levels.
func (s Settings) Below(prefix string) (*param.Map, error) {
	var pairs []Pair
	for _, k := range slices.Sorted(maps.Keys(s)) {
		if rest, ok := strings.CutPrefix(k, prefix); ok && rest != "" {
			pairs = append(pairs, Pair{rest, s[k]})
		}
	}
	return nested(param.New(), pairs)
}

// nested sets pairs; dots in keys create mappings.
func nested(m *param.Map, pairs []Pair) (*param.Map, error) {
	for _, p := range pairs {
		var err error
		if m, err = setPath(m, strings.Split(p.Key, "."), p.Value, p.Key); err != nil {
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

// Keys that can also be set by command options.
const (
	EndpointKey  = "client.http.endpoint"
	LogFormatKey = "server.log-format"
	LogLevelKey  = "server.log-level"
)
