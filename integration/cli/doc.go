// Package cli replays recordings of the command line of Digdag: the same commands, and the same lines from ours.
//
// `make test` runs it against a server of this module. It must never need anything but the Go tool and this machine's
// loopback.
package cli
