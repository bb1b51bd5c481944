// Package overview reads a server's state: running attempts, failures in the last day, late schedules and the next
// runs.
//
// `zerodag status` prints it. It queries the server through package client and never changes anything.
package overview
