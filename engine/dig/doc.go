// Package dig reads workflows: it turns .dig files into trees of tasks.
//
// It handles the YAML subset, !include, the keys that a workflow and a group may have, the rules for names, and the
// order of siblings (sequence, _parallel, _after, _background). A push, `check` and a local run call Load; the engine
// calls Compile for every subtree that a task generates; call> and http_call> call Callee and CalleeText.
//
// It must never touch a file system: files come through a Source. It must never evaluate `${...}`: it checks only what
// the text alone determines.
//
// Terms: a workflow is one top-level file; a task is a key that starts with "+"; a task with an operator key ("sh>")
// runs something, and a task without one is a group; the full name of a task is the concatenation of all names from the
// root ("+main+a").
package dig
