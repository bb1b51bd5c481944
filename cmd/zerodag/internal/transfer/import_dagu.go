package transfer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/dagu"
	"zerodag/internal/program"
	"zerodag/internal/term"
)

type importDagu struct {
	cli.Streams
	folder string
	force  bool
	by     dagu.Release
}

// newImportDagu returns the command that converts Dagu workflows to workflow files.
func newImportDagu(s cli.Streams) *cobra.Command {
	c := &importDagu{Streams: s}
	var release string
	cmd := &cobra.Command{
		Use:   "dagu FILE...",
		Short: "Translate Dagu workflows (YAML) into workflow files",
		Long: `Translate Dagu workflows (YAML) into workflow files with ` + "`zerodag: 1`" + `.

Each document of a file becomes a workflow file. The command reports how many steps were
translated, changed (they run, with a note about the difference) and refused. A refused
step is a ` + "`fail>`" + ` with the reason: the command never guesses. Each note and warning has the
line in the Dagu file and a remedy; warnings are also at the top of the workflow file.

Exit codes:
  0  everything was translated; notes describe differences
  1  a step was refused, something was dropped, or a file could not be read or written`,
		Example: "  zerodag import dagu etl.yaml report.yaml -o project",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.WrongCount(cmd, s, args, 1)
			}
			if release != "" {
				var err error
				if c.by, err = dagu.ReleaseOf(release); err != nil {
					return err
				}
			}
			return c.run(args)
		},
	}
	cmd.Flags().StringVarP(&c.folder, "output", "o", ".", "`DIR` to write the workflow files into")
	cmd.Flags().StringVar(&release, "release", "", "the Dagu release that runs the file, such as 2.15: since 2.7, steps of a workflow without a type start at once")
	cmd.Flags().BoolVar(&c.force, "force", false, "overwrite existing workflow files")
	return cmd
}

func (c *importDagu) run(names []string) error {
	var failed []error
	var steps dagu.Count
	lost := 0
	for _, name := range names {
		of, n, err := c.one(name)
		lost += n
		steps.Translated += of.Translated
		steps.Changed += of.Changed
		steps.Refused += of.Refused
		if err != nil {
			failed = append(failed, err)
		}
	}
	if steps.Total() > 0 {
		fmt.Fprintf(c.Err, "%s: %d translated, %d changed, %d refused\n", term.Counted(steps.Total(), "step"), steps.Translated, steps.Changed, steps.Refused)
	}
	switch {
	case len(failed) > 0:
		return errors.Join(failed...)
	case lost > 0:
		fmt.Fprintf(c.Err, "Not translated: %s. See the comments at the top of the workflow files.\n", term.Counted(lost, "thing"))
		return program.ErrShown
	}
	return nil
}

// one translates a file. It returns the outcome of its steps and the number of warnings.
func (c *importDagu) one(name string) (steps dagu.Count, lost int, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return steps, 0, fmt.Errorf("read Dagu workflow: %w", err)
	}
	r, err := dagu.Translate(name, text, c.by)
	if err != nil {
		return steps, 0, err
	}
	for _, n := range r.Notes {
		word := "note"
		if n.Lost {
			word, lost = "warning", lost+1
		}
		fmt.Fprintf(c.Err, "%s: %s\n", word, n)
	}
	if env := filepath.Join(filepath.Dir(name), ".env"); r.Dotenv {
		if _, err := os.Stat(env); err == nil {
			fmt.Fprintf(c.Err, "note: %s: Dagu reads variables from %s\n  pass them to the commands with `zerodag run --env-file %s`\n", name, env, env)
		}
	}
	for _, f := range r.Files {
		path := filepath.Join(c.folder, f.Name)
		if err := c.write(path, f.Text); err != nil {
			return steps, lost, err
		}
		fmt.Fprintln(c.Out, path)
	}
	return r.Steps, lost, nil
}

// write writes a workflow file, which must not exist yet unless --force is set.
func (c *importDagu) write(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { // #nosec G301 -- others may read a project, like any folder of its user
		return fmt.Errorf("create folder: %w", err)
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if c.force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(path, flags, 0o644) // #nosec G302 -- others may read a workflow file, like any file of its user
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s already exists: --force overwrites it", path)
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
