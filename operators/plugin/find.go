package plugin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/operators"
)

// Folder is where a project stores its operators, below its own folder.
const Folder = "operators"

// nameForm matches valid names of a project's operators.
var nameForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`) })

// commandOf returns the command line for a name, nil if the project has no such operator. A declaration in the workflow
// takes precedence over files.
func commandOf(t *operators.Task, name string) ([]string, error) {
	v, _ := t.Params.Get("plugin")
	command, err := declared(v, name)
	if err != nil || command != nil {
		return command, err
	}
	file, err := fileOf(t.Files.Root(), name)
	if err != nil || file == "" {
		return nil, err
	}
	return []string{Folder + "/" + file}, nil
}

func declared(v param.Value, name string) ([]string, error) {
	plugin, _ := v.(*param.Map)
	entry, ok := plugin.Map(Folder).Get(name)
	if !ok {
		return nil, nil
	}
	where := "plugin.operators." + name
	m, err := param.AsMap(where, entry)
	if err != nil {
		return nil, err
	}
	for key := range m.All() {
		if key != "command" {
			return nil, param.Errorf("%s has the unknown key '%s': write command, a list of strings", where, key)
		}
	}
	command, err := operators.Read(operators.NewParams(m), "command", operators.Words)
	if err != nil {
		return nil, err
	}
	if len(command) == 0 || command[0] == "" {
		return nil, param.Errorf("%s.command is empty: write a program and its arguments", where)
	}
	return command, nil
}

// fileOf returns the executable for a name in a project's folder, or else the workflow file; "" if there is neither.
func fileOf(root, name string) (string, error) {
	if !nameForm().MatchString(name) {
		return "", nil
	}
	all, err := List(root)
	if err != nil {
		return "", err
	}
	var ready, written, locked []string
	for _, f := range all {
		switch {
		case f.Name != name && f.File != name:
		case dig.IsOperatorFile(Folder + "/" + f.File):
			written = append(written, f.File)
		case f.Executable:
			ready = append(ready, f.File)
		default:
			locked = append(locked, f.File)
		}
	}
	switch {
	case len(ready) == 1:
		return ready[0], nil
	case len(ready) > 1:
		return "", param.Errorf("%s> is ambiguous: keep one of %s/%s", name, Folder, strings.Join(ready, ", "+Folder+"/"))
	case len(written) > 0:
		return written[0], nil
	case len(locked) > 0:
		return "", param.Errorf("%s", NotExecutable(locked[0]))
	}
	return "", nil
}

// NotExecutable returns the hint for a file that has lost its executable mode.
func NotExecutable(file string) string {
	return fmt.Sprintf("%s/%s is not executable: run `chmod +x %s/%s` and push the project again (archives made without file modes lose them)",
		Folder, file, Folder, file)
}

// File is a file in the operators folder.
type File struct {
	Name       string // of the operator: without the extension, "athena.query" for athena.query.sh
	File       string
	Executable bool
}

// List lists the files in the operators folder of the project in root. Files that are not executable may have other
// purposes: modules, data, a README.
func List(root string) ([]File, error) {
	entries, err := os.ReadDir(filepath.Join(root, Folder))
	if errors.Is(err, fs.ErrNotExist) {
		_, err = os.Stat(root) // check whether there is a project at all
	}
	if err != nil {
		return nil, fmt.Errorf("look for operators of the project: %w", err)
	}
	var all []File
	for _, e := range entries {
		path := filepath.Join(root, Folder, e.Name())
		info, err := os.Stat(path) // through links
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		name := strings.TrimSuffix(e.Name(), filepath.Ext(e.Name()))
		if !nameForm().MatchString(e.Name()) || name == "" {
			name = e.Name() // only by its whole name
		}
		all = append(all, File{name, e.Name(), info.Mode()&0o111 != 0})
	}
	return all, nil
}

// IsScript reports whether the first line of a file names an interpreter, so that it is meant to be executable.
func IsScript(root string, file File) bool {
	f, err := os.Open(filepath.Join(root, Folder, file.File))
	if err != nil {
		return false
	}
	defer f.Close()
	var start [2]byte
	n, _ := f.Read(start[:])
	return string(start[:n]) == "#!"
}
