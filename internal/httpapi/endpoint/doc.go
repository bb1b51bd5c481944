// Package endpoint provides the building blocks of every endpoint of the API: the options of a server, a route, one
// call with its parameters, the objects that its path and query name, and how a response or an error is written. It
// does not depend on any endpoint and decides nothing.
package endpoint
