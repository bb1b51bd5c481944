// Package endpoint is what every endpoint of the API is made of: the options of a server, a route, one call with what
// it asks for, the things that its path and query name, and how an answer or an error is written. It knows no endpoint
// and decides nothing.
package endpoint
