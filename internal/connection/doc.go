// Package connection chooses the server of a command and the credentials of its requests, from options, environment
// variables, the context in use and the configuration. It also explains errors of servers.
//
// Contexts are named servers. Each is a file that only its owner can read. The only requests of this package check the
// version of the server and list names for error messages.
package connection
