// Package overview reads the state of a server: running attempts, failures of the last day, late schedules and the next
// runs.
//
// `zerodag status` prints it. It queries the server through package client and never changes anything.
package overview
