package projectfolder

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"zerodag/engine/dig"
	"zerodag/internal/program"
	"zerodag/internal/term"
)

//go:embed all:templates
var templates embed.FS

// Kinds lists the sample projects of Create, separated by commas.
const Kinds = "echo, sh, ruby, python, td, postgresql"

// Create creates a project from a sample, in a folder that may already exist: it changes no existing files. out shows
// the new files and what to do with them.
func Create(out io.Writer, dir, kind string) error {
	if !slices.Contains(strings.Split(Kinds, ", "), kind) {
		return program.UsageError(fmt.Errorf("unknown type %q: it must be one of %s", kind, Kinds))
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	name := filepath.Base(abs)
	if !program.AsDigdag() {
		if folder, is := strings.CutSuffix(dir, ".dig"); is && !isFolder(abs) {
			return program.UsageError(fmt.Errorf("init takes the name of a folder, in which it writes a workflow file of that name: `zerodag init %s`", term.ShellWord(folder)))
		}
		name = workflowName(name)
	}
	workflow := filepath.Join(dir, name+".dig")
	if _, err := os.Stat(workflow); err == nil {
		fmt.Fprintf(out, "File %s already exists.\n", workflow)
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
		return createFile(out, file, filepath.Join(dir, filepath.FromSlash(rel)))
	})
	if err != nil {
		return err
	}
	if err := createFile(out, "templates/gitignore", filepath.Join(dir, ".gitignore")); err != nil {
		return err
	}
	file := name + ".dig"
	if !program.AsDigdag() {
		dir, file = term.ShellWord(dir), term.ShellWord(file)
	}
	where := "Type `cd " + dir + "` and then"
	if dir == "." {
		where = "Type"
	}
	fmt.Fprintf(out, program.AsCalled("Done. %s `zerodag run %s` to run the workflow. Enjoy!\n"), where, file)
	return nil
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// workflowName returns the name of the workflow in a new folder: the folder's name, with characters that a workflow's
// name cannot contain replaced.
func workflowName(folder string) string {
	if dig.WorkflowNameFault(folder) == "" && dig.TaskNameFault("+"+folder) == "" {
		return folder
	}
	name := strings.Map(func(r rune) rune {
		if r == '-' || r == '.' || dig.TaskNameFault("+"+string(r)) == "" && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '_'
	}, strings.TrimSuffix(folder, ".dig"))
	name = strings.TrimRight(strings.TrimLeft(name, "0123456789-._"), "-._")
	if name == "" || dig.WorkflowNameFault(name) != "" {
		return "main"
	}
	return name
}

// createFile writes one file of a sample unless it already exists.
func createFile(out io.Writer, from, to string) error {
	text, err := templates.ReadFile(from)
	if err != nil {
		return err
	}
	switch ext := path.Ext(from); {
	case ext == ".dig" && !program.AsDigdag():
		text = append([]byte("zerodag: 1\n"), text...)
	case (ext == ".py" || ext == ".rb") && program.AsDigdag():
		text = []byte(strings.NewReplacer("zerodag", "digdag", "Zerodag", "Digdag").Replace(string(text)))
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil { // #nosec G301 -- it is the user's project, closed by their umask if they so choose
		return fmt.Errorf("create project: %w", err)
	}
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644) // #nosec G302 -- it is the user's project, closed by their umask if they so choose
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("create project: %w", err)
	}
	fmt.Fprintf(out, "  Creating %s\n", to)
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
