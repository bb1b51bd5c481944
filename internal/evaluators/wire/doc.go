// Package wire is what a pool of evaluators and an evaluator say to each other.
//
// Both sides are of the same build. It must know neither how an evaluator is started nor how a
// script is run.
package wire
