// Package hosttest holds the contracts of the host's ports as tests, one suite for each port. Those of the ports that carry
// messages are in package messages; what suites share is in package suite.
//
// Each driver calls Exercise with a Harness that makes its ports, and names those that it does not
// implement. What a suite asks for is what the comments of package host promise; it must
// never ask for what only one driver can do.
package hosttest
