// Package cli is shared by the commands of zerodag: input and output, the connection to a server, and the formats of
// their results.
//
// The commands call it. It must never know about any command.
package cli
