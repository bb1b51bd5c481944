// Package script runs the JavaScript in `${...}`. It is the only package with a JavaScript engine.
//
// Expressions are written by users: the package must never expose anything but the parameters, a fixed clock and the
// JavaScript standard library, and must return within its limits no matter what they write. The engine cannot guarantee
// the limits within one process: a host runs scripts in a separate one (internal/evaluators), which the kernel limits.
//
// Only programs that evaluate expressions link it, and on AWS each function does so through a separate program: the
// engine finds methods by name, so the linker must keep every method of every type
// (docs/adr/0021-what-a-function-links.md).
package script
