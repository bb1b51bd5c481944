package projectfolder

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"zerodag/engine/dig"
	"zerodag/internal/program"
	"zerodag/internal/remedy"
	"zerodag/internal/term"
)

// misplaced explains how to write an argument that is a folder, or that names a task instead of the workflow, and
// returns "" for other arguments.
func misplaced(name string, workflows []string) string {
	workflow, task, hasTask := strings.Cut(name, "+")
	switch {
	case name == "." && len(workflows) > 0:
		return "name a workflow, such as " + term.ShellWord(workflows[0])
	case hasTask && workflow == "" && len(workflows) > 0:
		return "name the workflow first: zerodag run " + term.ShellWord(workflows[0]) + " +" + task
	case hasTask && slices.Contains(workflows, workflow):
		return "put a space before the task: zerodag run " + term.ShellWord(workflow) + " +" + task
	}
	return ""
}

// meant suggests a workflow, or another folder, for a name; "" if nothing resembles the name.
func (f Folder) meant(name string, names []string) string {
	if other := f.elsewhere(); other != "" && !strings.Contains(name, "/") {
		return other
	}
	if meant := misplaced(name, names); meant != "" {
		return meant
	}
	if near := remedy.Near(name, names); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}

// Find returns the workflow with a name; project is the value of --project. The error suggests what the user may have
// meant.
func (f Folder) Find(workflows []dig.Workflow, name, project string) (dig.Workflow, error) {
	for _, w := range workflows {
		if w.Name == name {
			return w, nil
		}
	}
	var names []string
	for _, w := range workflows {
		names = append(names, w.Name)
	}
	hint := ""
	folder, _, inFolder := cutLast(name, "/")
	if !program.AsDigdag() {
		if err := f.otherFile(name, names); err != nil {
			return dig.Workflow{}, err
		}
		if meant := f.meant(name, names); meant != "" {
			hint = "\nhint: " + meant
		}
		folder = term.ShellWord(folder)
	}
	switch {
	case project != "":
		return dig.Workflow{}, fmt.Errorf("Workflow '%s' does not exist in project directory '%s'. (resource not found)%s", name, project, hint)
	case inFolder:
		return dig.Workflow{}, fmt.Errorf("Workflow '%s' does not exist in current directory. You may need to type \"cd %s\" first, or set \"--project %s\" option. (resource not found)%s", name, folder, folder, hint)
	}
	return dig.Workflow{}, fmt.Errorf("Workflow '%s' does not exist in current directory. You may need to change directory first, or set --project option. (resource not found)%s", name, hint)
}

// otherFile returns an error that explains that a file named by the user is not a workflow, or nil if there is no such
// file.
func (f Folder) otherFile(name string, workflows []string) error {
	file, readsLikeOne := name, false
	if !f.isFile(file) {
		if file = f.unnamed(name); file == "" {
			return nil
		}
		readsLikeOne = true
	}
	ext := path.Ext(file)
	plain := strings.TrimSuffix(file, ext)
	hint := "`zerodag check` shows the workflows of this folder"
	switch how := taskFor(ext); {
	case slices.Contains(workflows, plain):
		hint = "did you mean " + plain + ".dig?"
	case how != "":
		hint = "run it in a task of a workflow: `" + strings.NewReplacer("FILE", term.ShellWord(file), "MODULE", strings.ReplaceAll(plain, "/", ".")).Replace(how) + "`"
	case readsLikeOne, ext == ".yaml", ext == ".yml", slices.Contains(f.unrecognized(), file):
		hint = "rename it: " + renamed(file)
	}
	return fmt.Errorf("%s is not a workflow: a workflow file ends in .dig%s\nhint: %s", file, smallLetters(file), hint)
}

// taskFor returns the operator that runs files with an extension, or "" if there is none.
func taskFor(ext string) string {
	switch strings.ToLower(ext) {
	case ".py":
		return "sh>: python3 FILE` or `py>: MODULE.FUNCTION"
	case ".sh", ".bash":
		return "sh>: sh FILE"
	case ".rb":
		return "sh>: ruby FILE"
	case ".js":
		return "sh>: node FILE"
	case ".sql":
		return "pg>: FILE"
	}
	return ""
}

func (f Folder) isFile(name string) bool {
	info, err := os.Stat(filepath.Join(f.Root(), filepath.FromSlash(name)))
	return err == nil && info.Mode().IsRegular()
}

// unnamed returns the file with a different extension to which a workflow's name may refer, or "" if there is none.
func (f Folder) unnamed(name string) string {
	for _, other := range f.unrecognized() {
		if strings.EqualFold(workflowOf(other), name) || strings.EqualFold(other, name+".dig") {
			return other
		}
	}
	return ""
}

// workflowOf returns the name of a file without the extensions that a workflow may have been given.
func workflowOf(file string) string {
	for {
		ext := path.Ext(file)
		if !slices.Contains([]string{".dig", ".yml", ".yaml", ".txt"}, strings.ToLower(ext)) {
			return file
		}
		file = strings.TrimSuffix(file, ext)
	}
}

// renamed returns the command that renames a file to a workflow file.
func renamed(file string) string {
	return "mv " + term.ShellWord(file) + " " + term.ShellWord(workflowOf(file)+".dig")
}

func smallLetters(file string) string {
	if ext := path.Ext(file); ext != ".dig" && strings.EqualFold(ext, ".dig") {
		return ", in small letters"
	}
	return ""
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
