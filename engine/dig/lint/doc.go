// Package lint warns of what is legal in a workflow and hardly does what its author means: parameters that nothing reads,
// keys of other tools, expressions whose outcome depends on types, files that are missing, secrets in the open.
//
// A warning never stops a run. The package reads the files of a project through a Source and is told in Known what there is
// besides: operators, the parameters that they read, variables. A critic walks over each workflow that Load takes; each file of
// the package holds the rules about one matter. What needs no workflow is in rooms below: scripts of a shell, and what all
// files of a project say of parameters.
package lint
