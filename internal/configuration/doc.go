// Package configuration reads the configuration of servers, clients and local runs: the default file and the file of
// --config (Java properties), environment variables, -X KEY=VALUE options and task parameters.
//
// Servers, clients and local runs may share one file, so one table lists all keys. A typo in a known key is an error,
// as is a place for data or commands that this machine does not have. Package serverconfig interprets the keys of
// servers.
package configuration
