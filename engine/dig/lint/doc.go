// Package lint warns about parts of a workflow that are legal but rarely do what their author means: unused parameters,
// keys of other tools, expressions whose outcome depends on types, missing files, exposed secrets.
//
// A warning never stops a run. The package reads the files of a project through a Source; Known lists what exists
// outside it: operators, the parameters that they read, variables. A critic walks over each workflow that Load accepts;
// each file of the package holds the rules about one subject. Checks that need no workflow are in subpackages: shell
// scripts, and what all files of a project define about parameters.
package lint
