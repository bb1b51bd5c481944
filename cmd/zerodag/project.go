package main

import (
	"fmt"
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

// loadWorkflows reads all workflows of a project, and the one file in a sub-folder that
// is named beside them, if any.
func loadWorkflows(p files.Project, beside string) ([]dig.Workflow, error) {
	names, err := p.List()
	if err != nil {
		return nil, err
	}
	names = files.WorkflowNames(names)
	if beside != "" && !slices.Contains(names, beside) {
		if _, err := os.Stat(filepath.Join(p.Root(), filepath.FromSlash(beside))); err == nil {
			names = append(names, beside)
		}
	}
	return dig.Load(p.Source, names)
}

// workflowArgument turns what a user names, a file or a workflow, into the file's name
// below the project and the workflow's name.
func workflowArgument(p files.Project, argument string) (file, workflow string) {
	name := argument
	if strings.HasSuffix(name, ".dig") {
		if abs, err := filepath.Abs(name); err == nil {
			if rel, err := filepath.Rel(p.Root(), abs); err == nil && filepath.IsLocal(rel) {
				if _, err := os.Stat(abs); err == nil {
					name = filepath.ToSlash(rel)
				}
			}
		}
	}
	name = strings.TrimSuffix(path.Clean(filepath.ToSlash(name)), ".dig")
	return name + ".dig", name
}
