// Package wire is the protocol between a pool of evaluators and an evaluator.
//
// Both sides are from the same build. The package must not depend on how an evaluator is started or how a script is
// run.
package wire
