package dig

import "zerodag/engine/param"

// File is a workflow file that Load accepts, with observations about its text.
type File struct {
	Workflow Workflow
	Doubts   Errors // legal YAML that probably does not mean what its author expects

	name    string
	raw     *param.Map
	project *project
}

// Inspect reads one workflow file, and returns nil if Load refuses it.
func Inspect(read Source, name string) *File {
	p := newProject(read)
	p.doubts = &Errors{}
	raw := p.workflow(name)
	if raw == nil || len(p.errs) > 0 {
		return nil
	}
	d := define(p.read, WorkflowName(name), FolderOf(name), raw, p.calendarOf(name, raw))
	if len(d.problems)+len(d.wrong) > 0 {
		return nil
	}
	text, err := read(name)
	if err == nil {
		*p.doubts = append(*p.doubts, lookAlikes(name, text)...)
	}
	return &File{Workflow: d.Workflow, Doubts: *p.doubts, name: name, raw: raw, project: p}
}

// Located gives each problem the place of its key in the file.
func (f *File) Located(problems []Problem) Errors { return f.project.located(f.name, f.raw, problems) }
