// Package badprojects reads the corpus of projects with mistakes in its folders.
//
// Each folder NNN-name is a project that a user could write by mistake or in bad faith, with a want.txt: "#" lines
// describe what is wrong with the project, "run: true" marks a project that is accepted and fails only when it runs,
// and every other line is a part of one error that its author must see, in order.
//
// The test here loads the static projects; the tests of the command line run the others. The package must never change
// a project.
package badprojects

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"zerodag/engine/dig"
)

// Project is one project with mistakes.
type Project struct {
	Name      string   // name of its folder
	Dir       string   // path of its folder
	Workflows []string // the workflow files in its top directory
	Want      []string // parts of the errors, one for each error
	Run       bool     // fails only when it runs
}

// wantFile is not part of the project.
const wantFile = "want.txt"

// Load reads all projects under dir, in the order of their names.
func Load(dir string) ([]Project, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list projects: %w", err)
	}
	var projects []Project
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		p, err := load(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		projects = append(projects, p)
	}
	return projects, nil
}

func load(dir string) (Project, error) {
	p := Project{Name: filepath.Base(dir), Dir: dir}
	text, err := os.ReadFile(filepath.Join(dir, wantFile))
	if err != nil {
		return p, fmt.Errorf("read the expected errors of project %s: %w", p.Name, err)
	}
	for line := range strings.Lines(string(text)) {
		switch line = strings.TrimSpace(line); {
		case line == "run: true":
			p.Run = true
		case line != "" && !strings.HasPrefix(line, "#"):
			p.Want = append(p.Want, line)
		}
	}
	if len(p.Want) == 0 {
		return p, fmt.Errorf("%s of project %s expects no error", wantFile, p.Name)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return p, fmt.Errorf("list project %s: %w", p.Name, err)
	}
	for _, e := range entries {
		if !e.IsDir() && strings.HasSuffix(e.Name(), ".dig") {
			p.Workflows = append(p.Workflows, e.Name())
		}
	}
	return p, nil
}

// Read serves the project's files; it is a dig.Source.
func (p Project) Read(name string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(p.Dir, filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, dig.ErrNotFound
	}
	var where *fs.PathError
	if errors.As(err, &where) {
		return nil, where.Err // the path belongs to the machine, not to the project
	}
	return text, err
}
