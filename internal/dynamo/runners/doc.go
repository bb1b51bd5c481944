// Package runners keeps the commands that wait for a place to run and the runners that carry them out, in the table of
// package table.
//
// Package sandbox calls it through its ports. It must never start or stop a runner.
package runners
