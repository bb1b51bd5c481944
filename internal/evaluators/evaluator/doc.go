// Package evaluator evaluates expressions: in the process that a pool of evaluators starts (Serve), or in the calling
// process for tests and for programs that trust their workflows (InProcess).
//
// A program whose main calls Serve first can be an evaluator. The package must not depend on a host or an operator: an
// evaluator is small and contains only expressions.
package evaluator
