// Package client drives a real server with Digdag's own Java client library, so that programs which use it keep
// working.
//
// `make tools` installs its requirements: a JDK, Maven and the library. It must not know our own client.
package client
