// Package enginetest runs the scenario files of the engine: commands and events, with the resulting changes, debts and
// output. It also has the literal rule of parameters and the comparison of states, which simulations also use.
//
// Tests of package engine use it. It must never read a file or a clock: text is passed in.
package enginetest
