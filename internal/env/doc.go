// Package env is the contract between infra, which writes it, and the functions and drivers, which read it: names of
// attributes, indexes and environment variables.
//
// It must never import a driver, an SDK or the CDK, because both sides link it.
package env
