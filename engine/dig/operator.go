package dig

import (
	"fmt"
	"path"
	"strings"

	"zerodag/engine/dig/keys"

	"zerodag/engine/param"
)

// operatorFolder is the folder of a project's own operators.
const operatorFolder = "operators"

// IsOperatorFile reports whether a project file, by its slash path, is an operator written as a workflow.
func IsOperatorFile(name string) bool {
	return path.Dir(name) == operatorFolder && path.Ext(name) == Suffix && path.Base(name) != Suffix
}

// operatorFile returns the workflow file in which an operator may be defined.
func operatorFile(name string) string {
	return operatorFolder + "/" + strings.TrimSuffix(name, Suffix) + Suffix
}

// OperatorGate returns the error for an operator file without `zerodag: 1`.
func OperatorGate(file string) string {
	return fmt.Sprintf("%s is not an operator without `%s: %d` at its top", file, keys.LevelKey, keys.Latest)
}

// ReadOperator reads an operator that a project defines as a workflow file. It returns the file's name, its keys with
// includes expanded, and its mistakes. There are no keys if the project has no such file, or if it cannot be read.
func ReadOperator(read Source, operator string) (file string, raw *param.Map, errs Errors) {
	file = operatorFile(operator)
	if _, err := read(file); err != nil {
		return file, nil, nil //nolint:nilerr // it is an operator of another kind
	}
	p := newProject(read)
	raw = p.workflow(file)
	if raw != nil && !p.lost {
		d := define(read, WorkflowName(path.Base(file)), "", raw, nil)
		p.errs = append(p.errs, p.located(file, raw, d.problems)...)
	}
	return file, raw, p.errs
}
