package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

//go:embed all:templates
var templates embed.FS

// kinds names the sample projects of `init -t`.
const kinds = "echo, sh, ruby, python, td, postgresql"

// newInit makes a new project from a sample.
func newInit(s streams) *cobra.Command {
	var kind string
	c := &cobra.Command{
		Use:     "init DIR",
		Aliases: []string{"new"},
		Short:   "Create a new project",
		Args:    upTo(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return wrongCount(cmd, s, args, 1)
			}
			banner(s.err)
			return initProject(s, args[0], kind)
		},
	}
	c.Flags().StringVarP(&kind, "type", "t", "echo", "sample `TYPE`: "+kinds)
	return c
}

func initProject(s streams, dir, kind string) error {
	if !slices.Contains(strings.Split(kinds, ", "), kind) {
		return usageError{fmt.Errorf("unknown type %q: it must be one of %s", kind, kinds)}
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	name := filepath.Base(abs)
	workflow := filepath.Join(dir, name+".dig")
	if _, err := os.Stat(workflow); err == nil {
		fmt.Fprintf(s.out, "File %s already exists.\n", workflow)
		return nil
	}
	from := path.Join("templates", kind)
	err = fs.WalkDir(templates, from, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel := strings.TrimPrefix(file, from+"/")
		if rel == "workflow.dig" {
			rel = name + ".dig"
		}
		return create(s, file, filepath.Join(dir, filepath.FromSlash(rel)))
	})
	if err != nil {
		return err
	}
	if err := create(s, "templates/gitignore", filepath.Join(dir, ".gitignore")); err != nil {
		return err
	}
	where := "Type `cd " + dir + "` and then"
	if dir == "." {
		where = "Type"
	}
	fmt.Fprintf(s.out, asCalled("Done. %s `zerodag run %s.dig` to run the workflow. Enjoy!\n"), where, name)
	return nil
}

// create writes one file of a sample unless there is one.
func create(s streams, from, to string) error {
	text, err := templates.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil { // #nosec G301 -- it is the user's project, closed by his umask if he wants so
		return fmt.Errorf("create project: %w", err)
	}
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644) // #nosec G302 -- it is the user's project, closed by his umask if he wants so
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("create project: %w", err)
	}
	fmt.Fprintf(s.out, "  Creating %s\n", to)
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
