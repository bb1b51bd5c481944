// Package messages holds the suites of the ports that carry messages: queues and their marks, timers, the bus, notices
// and traces.
//
// Package hosttest runs them for each driver. It must never require anything that only one driver can do.
package messages
