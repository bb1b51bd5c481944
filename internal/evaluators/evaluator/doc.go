// Package evaluator does the evaluation: the process that a pool of evaluators starts (Serve), and the same within this
// process for tests and for programs that trust their workflows (InProcess).
//
// A program whose main calls Serve first can be an evaluator. It must know no host and no operator: an evaluator is
// small, expressions and nothing else.
package evaluator
