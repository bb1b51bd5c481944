package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

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
		}
		return nil
	})
}

// loadHere is loadWorkflows for what stores nothing: faults of schedules are told apart.
func loadHere(p files.Project) (workflows []dig.Workflow, names []string, faults dig.ScheduleFaults, err error) {
	all, err := p.List()
	if err != nil {
		return nil, nil, faults, err
	}
	names = files.WorkflowNames(all)
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
