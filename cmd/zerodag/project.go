package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"zerodag/engine/dig"
	"zerodag/internal/files"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// openProject opens a project's folder; "" is the current one.
func openProject(dir string) (files.Project, error) {
	if dir == "" {
		dir = "."
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return files.Project{}, fmt.Errorf("project folder: %w", err)
	case !info.IsDir():
		return files.Project{}, fmt.Errorf("project folder %s is a file: name the folder that holds the .dig files", dir)
	}
	return files.Open(dir)
}

// ownState refuses a project whose folder for what a run writes is, or has in it, a link: it may
// lead anywhere, and came with the project.
func ownState(root string) error {
	folder := filepath.Join(root, ".digdag")
	return filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return fmt.Errorf("look at %s: %w", folder, err)
		case d.Type()&fs.ModeSymlink != 0:
			return fmt.Errorf("%s is a link, and a run would write to where it leads: remove it", name)
		case name == folder && !d.IsDir():
			return fmt.Errorf("%s is no folder: remove it", name)
		case !d.IsDir() && (name == filepath.Join(folder, "status") || name == filepath.Join(folder, "tmp")):
			return fmt.Errorf("%s is a file, and a run needs a folder of that name: remove it", name)
		}
		return nil
	})
}

// writable refuses a project in whose folder a run could not save what it did, before the run does it.
func writable(root string) error {
	folder := filepath.Join(root, ".digdag")
	err := os.MkdirAll(folder, 0o755) // #nosec G301 -- it is a folder of the user's project
	if err == nil {
		var f *os.File
		if f, err = os.CreateTemp(folder, ".probe-*"); err == nil {
			return errors.Join(f.Close(), os.Remove(f.Name()))
		}
	}
	if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) {
		return nil // what fails then says why
	}
	return fmt.Errorf("the folder %s cannot be written by this user, and a run saves there what it did: %w\n%s", root, err, copyHint(root))
}

// copyHint is the way out of a folder that cannot be written.
func copyHint(root string) string {
	return "hint: run a copy, such as `cp -R " + shellWord(root) + " ~/project && cd ~/project`, or have its owner give you the right to write; --no-save does without for workflows without commands"
}

// elsewhere finds workflow files in folders of a project that has none at its top; "" for none.
func elsewhere(p files.Project) string {
	all, err := p.List()
	if err != nil || len(files.WorkflowNames(all)) > 0 {
		return ""
	}
	for _, name := range all {
		if path.Ext(name) == ".dig" {
			return "found " + name + ": use --project " + shellWord(path.Dir(name))
		}
	}
	return ""
}

// noWorkflow is the message about a project without workflows, with the remedy.
func noWorkflow(p files.Project) dig.Error {
	hint := elsewhere(p)
	if hint == "" {
		hint = "`zerodag init` makes one, and --project names another folder"
	}
	return dig.Error{Message: "there is no workflow in this folder (a workflow file ends in .dig): " + hint}
}

// loadHere is loadWorkflows for what stores nothing: faults of schedules are told apart. The workflow that the user names, "" for none,
// is read also if .digdagignore leaves its file out of the project; ignoring is then the line that does.
func loadHere(p files.Project, named string, notes io.Writer) (workflows []dig.Workflow, names []string, faults dig.ScheduleFaults, err error) {
	all, err := p.List()
	if err != nil {
		return nil, nil, faults, err
	}
	names = files.WorkflowNames(all)
	if file := named + ".dig"; named != "" && !strings.Contains(named, "/") && !slices.Contains(names, file) {
		if line, ignored := p.IgnoredBy(file); ignored {
			fmt.Fprintf(notes, "note: line %d of .digdagignore leaves %s out of the project: it is read here because you named it, and is not pushed\n", line, file)
			names = append(names, file)
		}
	}
	workflows, faults, err = dig.LoadHere(p.Source, names)
	return workflows, names, faults, err
}

// loadWorkflows reads all workflows of a project as a push does; names are their files.
func loadWorkflows(p files.Project) (workflows []dig.Workflow, names []string, err error) {
	all, err := p.List()
	if err != nil {
		return nil, nil, err
	}
	names = files.WorkflowNames(all)
	workflows, err = dig.Load(p.Source, names)
	return workflows, names, err
}

// workflowArgument turns what a user names, a file or a workflow, into the workflow's
// name: its path below the project without ".dig".
func workflowArgument(p files.Project, argument string) string {
	name := argument
	if strings.HasSuffix(name, ".dig") {
		if abs, err := filepath.Abs(name); err == nil {
			rel, err := filepath.Rel(p.Root(), abs)
			if _, missing := os.Stat(abs); err == nil && missing == nil && filepath.IsLocal(rel) {
				name = rel
			}
		}
	}
	return strings.TrimSuffix(path.Clean(filepath.ToSlash(name)), ".dig")
}
