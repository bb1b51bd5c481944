// Package cli replays recordings of the command line of Digdag: our program must print the same lines for the same
// commands.
//
// `make test` runs it against a server of this module. It must never need anything but the Go tool and this machine's
// loopback.
package cli
