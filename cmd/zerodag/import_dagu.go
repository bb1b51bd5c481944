package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"zerodag/internal/dagu"
)

type importDagu struct {
	streams
	folder string
	force  bool
}

// newImportDagu turns workflows of Dagu into workflow files.
func newImportDagu(s streams) *cobra.Command {
	c := &importDagu{streams: s}
	cmd := &cobra.Command{
		Use:   "dagu FILE...",
		Short: "Turn workflows of Dagu (YAML) into workflow files",
		Long: `Turn workflows of Dagu (YAML) into workflow files with ` + "`zerodag: 1`" + `.

Each document of a file becomes a workflow file. What could not be taken over is said with
its line and what to do instead, and stands at the top of the workflow file, too. The exit
code is 1 where something was not.`,
		Example: "  zerodag import dagu etl.yaml report.yaml -o project",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return wrongCount(cmd, s, args, 1)
			}
			return c.run(args)
		},
	}
	cmd.Flags().StringVarP(&c.folder, "output", "o", ".", "`DIR` to write the workflow files into")
	cmd.Flags().BoolVar(&c.force, "force", false, "write over workflow files that are there")
	return cmd
}

func (c *importDagu) run(names []string) error {
	var failed []error
	lost := 0
	for _, name := range names {
		n, err := c.one(name)
		lost += n
		if err != nil {
			failed = append(failed, err)
		}
	}
	switch {
	case len(failed) > 0:
		return errors.Join(failed...)
	case lost > 0:
		fmt.Fprintf(c.err, "Not taken over: %s. The workflow files say so at their tops.\n", counted(lost, "thing"))
		return errShown
	}
	return nil
}

// one translates a file, and says how many things it could not take over.
func (c *importDagu) one(name string) (lost int, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, fmt.Errorf("read workflow of Dagu: %w", err)
	}
	files, notes, err := dagu.Translate(name, text)
	if err != nil {
		return 0, err
	}
	for _, n := range notes {
		word := "note"
		if n.Lost {
			word, lost = "warning", lost+1
		}
		fmt.Fprintf(c.err, "%s: %s\n", word, n)
	}
	for _, f := range files {
		path := filepath.Join(c.folder, f.Name)
		if err := c.write(path, f.Text); err != nil {
			return lost, err
		}
		fmt.Fprintln(c.out, path)
	}
	return lost, nil
}

// write writes a workflow file, which must not be there unless --force says so.
func (c *importDagu) write(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { // #nosec G301 -- a project is read by others, as any folder of its user
		return fmt.Errorf("make folder: %w", err)
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if c.force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(path, flags, 0o644) // #nosec G302 -- a workflow file is read by others, as any file of its user
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already: --force writes over it", path)
	}
	if err != nil {
		return fmt.Errorf("write workflow file: %w", err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write workflow file: %w", err)
	}
	return nil
}
