// Package wire is the protocol between a pool of evaluators and an evaluator.
//
// Both sides are of the same build. It must know neither how an evaluator is started nor how a script is run.
package wire
