// Package cli is what the commands of zerodag share: where they read and write, how they reach a server, and the forms of their results.
//
// The commands call it. It must never know a command.
package cli
