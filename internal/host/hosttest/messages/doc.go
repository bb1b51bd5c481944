// Package messages holds the suites of the ports that carry messages: queues and their marks, timers, the bus, notices and traces.
//
// Package hosttest runs them for each driver. It must never ask a port for what only one driver can do.
package messages
