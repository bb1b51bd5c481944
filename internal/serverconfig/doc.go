// Package serverconfig reads the settings of a server (docs/server.md) into the options of the packages that make up a
// server. Command-line options override the configuration.
//
// It checks that the settings fit together. It opens only the files that settings name: the data folder, the secret key
// and the template of a notice. Package serverrun runs the result.
package serverconfig
