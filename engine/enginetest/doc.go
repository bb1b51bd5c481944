// Package enginetest runs the engine's scenario files: commands and events, with the resulting changes, debts and
// output. It also contains the literal rule for parameters and the comparison of states, which simulations use as well.
//
// Tests of package engine use it. It must never read a file or a clock: text is passed in.
package enginetest
