// Package script runs the JavaScript in `${...}`: the one package with a JavaScript engine.
//
// Expressions are written by users: it must never give them anything but the parameters, a clock
// that stands still and the JavaScript standard library, and must return within its bounds
// whatever they write. The engine cannot promise the last within one process: a host has scripts
// run by another one (internal/evaluators), which the kernel bounds.
//
// Only programs that evaluate link it, and no function on AWS does but through a program of its
// own: the engine finds methods by name, so that the linker must keep every method of every type
// beside it (docs/adr/0021-what-a-function-links.md).
package script
