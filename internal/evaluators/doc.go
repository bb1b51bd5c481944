// Package evaluators evaluates `${...}` in other processes, which the kernel limits and which may die. They are started
// when an expression needs JavaScript.
//
// An evaluator (package evaluator) has no environment, cannot open files or connections or start programs, and has
// limits on memory and processor time. It evaluates one template after the other, each in a fresh runtime, and is
// killed if one takes too long, if the task is canceled, and when this process ends. References to parameters never
// leave this process.
//
// `zerodag server`, `zerodag run`, the functions on AWS and the embedding package use it. It must never link the
// JavaScript engine, and never evaluate a template that belongs in an evaluator in this process, even if no evaluator
// can be started.
package evaluators
