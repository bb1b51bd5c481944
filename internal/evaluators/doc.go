// Package evaluators has `${...}` evaluated by other processes, which the kernel limits and which may die: they are
// started when an expression needs JavaScript.
//
// An evaluator (package evaluator) has no environment, opens no file and no connection, starts no program, and has
// limits of memory and of processor time. It evaluates one template after the other, each in a fresh runtime, and is
// killed when one takes too long, when the task is canceled, and at the end of this process. References to parameters
// never leave this process.
//
// `zerodag server`, `zerodag run`, the functions on AWS and the embedding package use it. It must never evaluate in
// this process a template that belongs in an evaluator, not even when no evaluator can be started, and never link the
// JavaScript engine.
package evaluators
