package projectfolder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"

	"zerodag/engine/dig"
	"zerodag/internal/projectfiles"
	"zerodag/internal/term"
)

// Folder is a project's folder on this machine. Methods that take no file names read the whole folder.
type Folder struct {
	projectfiles.Project
	runFolder string
}

// Open opens a project's folder, which must exist; "" means the current folder.
func Open(dir string) (Folder, error) {
	if dir == "" {
		dir = "."
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return Folder{}, fmt.Errorf("project folder: %w", err)
	case !info.IsDir():
		return Folder{}, fmt.Errorf("project folder %s is a file: name the folder that holds the .dig files", dir)
	}
	p, err := projectfiles.Open(dir)
	return Folder{p, runFolder(p.Root())}, err
}

// OwnState returns an error if the folder for a run's files is or contains a link that came with the project and may
// lead anywhere, or if a file has the name of a folder that a run needs.
func (f Folder) OwnState() error {
	folder := f.runPath("")
	return filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return fmt.Errorf("check %s: %w", folder, err)
		case d.Type()&fs.ModeSymlink != 0:
			return fmt.Errorf("%s is a link, and a run would write to its target: remove it", name)
		case name == folder && !d.IsDir():
			return fmt.Errorf("%s is not a folder: remove it", name)
		case !d.IsDir() && (name == f.StatusFolder() || name == f.TempFolder()):
			return fmt.Errorf("%s is a file, but a run needs a folder of that name: remove it", name)
		}
		return nil
	})
}

// Writable returns an error if a run could not save its state in the folder.
func (f Folder) Writable() error {
	root := f.Root()
	folder := f.runPath("")
	err := os.MkdirAll(folder, 0o755) // #nosec G301 -- it is a folder of the user's project
	if err == nil {
		var probe *os.File
		if probe, err = os.CreateTemp(folder, ".probe-*"); err == nil {
			return errors.Join(probe.Close(), os.Remove(probe.Name()), f.hideFromGit())
		}
	}
	if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) {
		return nil // the operation that fails reports why
	}
	return fmt.Errorf("this user cannot write to the folder %s, in which a run saves its state: %w\n%s", root, err, copyHint(root))
}

// copyHint suggests what to do about a folder that cannot be written to.
func copyHint(root string) string {
	return "hint: run a copy, such as `cp -R " + term.ShellWord(root) + " ~/project && cd ~/project`, or ask its owner for write permission; workflows without commands also run with --no-save"
}

// elsewhere returns a hint about workflow files in subfolders of a project that has none at its top level, or "" if
// there are none.
func (f Folder) elsewhere() string {
	all, err := f.List()
	if err != nil || len(projectfiles.WorkflowNames(all)) > 0 {
		return ""
	}
	for _, name := range all {
		if path.Ext(name) == ".dig" {
			return "found " + name + ": use --project " + term.ShellWord(path.Dir(name))
		}
	}
	return ""
}

// mostLooked is how many files without a workflow's extension are read, and mostOfFile is the maximum size of such a
// file.
const (
	mostLooked = 100
	mostOfFile = 1 << 20
)

// taskLine matches the name of a task at the top level of a workflow file.
var taskLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^["']?\+[\w-]+["']?:\s`) })

// unrecognized lists the files in a project's folder that look like workflows but whose names do not end in .dig.
func (f Folder) unrecognized() (found []string) {
	all, err := f.List()
	if err != nil {
		return nil
	}
	looked := 0
	for _, name := range all {
		ext := path.Ext(name)
		if strings.Contains(name, "/") || ext == ".dig" || !slices.Contains([]string{"", ".dig", ".yml", ".yaml", ".txt"}, strings.ToLower(ext)) {
			continue
		}
		if looked++; looked > mostLooked {
			break
		}
		info, err := os.Stat(filepath.Join(f.Root(), name))
		if err != nil || !info.Mode().IsRegular() || info.Size() > mostOfFile {
			continue
		}
		if text, err := f.Source(name); err == nil && taskLine().Match(text) {
			found = append(found, name)
		}
	}
	return found
}

// NoWorkflow returns the error for a folder without workflows, with a remedy.
func (f Folder) NoWorkflow() dig.Error {
	hint := f.elsewhere()
	if others := f.unrecognized(); hint == "" && len(others) > 0 {
		hint = "found " + others[0] + ": rename it: " + renamed(others[0])
	}
	if hint == "" {
		hint = "`zerodag init` creates one, and --project names a different folder"
	}
	return dig.Error{Message: "there is no workflow in this folder (a workflow file ends in .dig): " + hint}
}

// Contents holds a folder's workflows.
type Contents struct {
	Workflows []dig.Workflow
	Names     []string           // the names of their files
	Faults    dig.ScheduleFaults // the faults of schedules; empty if they are errors
}

// ReadHere reads the workflows for a command that stores nothing: schedule faults are not errors. The workflow that the
// user names ("" for none) is read even if an ignore file excludes its file from the project; in that case, notes
// mentions this.
func (f Folder) ReadHere(named string, notes io.Writer) (Contents, error) {
	c, _, err := f.names(named, notes)
	if err != nil {
		return c, err
	}
	c.Workflows, c.Faults, err = dig.LoadHere(f.Source, c.Names)
	return c, err
}

// names lists the workflow files for ReadHere. own is the file, if any, that is included only because the user names
// it.
func (f Folder) names(named string, notes io.Writer) (c Contents, own []string, err error) {
	all, err := f.List()
	if err != nil {
		return c, nil, err
	}
	c.Names = projectfiles.WorkflowNames(all)
	if file := named + ".dig"; named != "" && !strings.Contains(named, "/") && !slices.Contains(c.Names, file) {
		if line := f.IgnoredBy(file); line != "" {
			fmt.Fprintf(notes, "note: %s excludes %s from the project: it is read here because you named it, and is not pushed\n", line, file)
			c.Names, own = append(c.Names, file), []string{file}
		}
	}
	return c, own, nil
}

// Read reads the workflows as a push does: schedule faults are errors, and files that are not pushed do not exist.
func (f Folder) Read() (Contents, error) {
	c, _, err := f.names("", io.Discard)
	if err != nil {
		return c, err
	}
	read, err := f.PackedSource()
	if err != nil {
		return c, err
	}
	c.Workflows, err = dig.Load(read, c.Names)
	return c, err
}

// WorkflowName returns the name of a workflow that the user identifies by name or by file: the path below the project
// without ".dig".
func (f Folder) WorkflowName(argument string) string {
	name := argument
	if strings.HasSuffix(name, ".dig") {
		if abs, err := filepath.Abs(name); err == nil {
			rel, err := filepath.Rel(f.Root(), abs)
			if _, missing := os.Stat(abs); err == nil && missing == nil && filepath.IsLocal(rel) {
				name = rel
			}
		}
	}
	return strings.TrimSuffix(path.Clean(filepath.ToSlash(name)), ".dig")
}
