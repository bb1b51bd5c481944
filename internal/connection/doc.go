// Package connection chooses the server of a command and the credentials of its requests, from options, environment
// variables, the context in use and the configuration. It also explains server errors.
//
// Contexts are named servers. Each is a file that only its owner can read. The only requests that this package makes
// check the server's version and list names for error messages.
package connection
