// Package serverconfig reads a server's settings (docs/server.md) into the options of the packages that make up the
// server. Command-line options override the configuration.
//
// It checks that the settings fit together. It opens only the files that settings name: the data folder, the secret key
// and notice templates. Package serverrun runs the result.
package serverconfig
