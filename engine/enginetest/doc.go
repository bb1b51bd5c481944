// Package enginetest runs the scenario files of the engine: commands and events, and what they change, owe and show.
// Beside it are the literal rule of parameters and the comparison of states, which simulations use, too.
//
// Tests of package engine use it. It must never read a file or look at a clock: text is passed in.
package enginetest
