// Package enginetest holds what tests of the engine are made of: an interpreter of
// scenario files, generators of random workflows and events, and a small reference model.
//
// Tests of package engine and of hosts use it. It must never read a file, look at a clock
// or draw a random number: text and choices are passed in. The model must stay slow and
// literal, and must not share a line with the engine.
package enginetest
