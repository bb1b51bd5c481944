// Package client drives a real server with Digdag's own Java client library, to prove that programs that use it keep
// working.
//
// `make tools` installs its requirements: a JDK, Maven and the library. It must not use zerodag's own client.
package client
