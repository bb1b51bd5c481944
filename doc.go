// Package zerodag is the root of the zerodag module: a workflow engine for the Digdag
// language. The command line is cmd/zerodag; the state machine is package engine.
//
// It will be the embedding API. Until it is, it holds only the tests that keep the
// module's structure; nothing may import it.
package zerodag
