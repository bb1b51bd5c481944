// Package hosttest holds the contracts of the host's ports as tests, one suite for each port. The suites of the ports
// that carry messages are in package messages; the parts that suites share are in package suite.
//
// Three suites test a database as a whole: its host.Database, which changes survive the end of a process (Reopen), and
// errors from its library (Outage).
//
// Each driver calls Exercise with a Harness that creates its ports, and names the ports that it does not implement. A
// suite tests the promises in the comments of package host. It must never require anything that only one driver can do.
package hosttest
