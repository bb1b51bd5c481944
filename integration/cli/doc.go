// Package cli replays recordings of Digdag's command line: zerodag must print the same lines for the same
// commands.
//
// `make test` runs it against a server of this module. It must never need more than the Go tool and the loopback
// interface.
package cli
