// Package logstream writes the log lines of the program and of tasks to a stream as they arrive. It filters them by
// level and formats them with package tasklog.
//
// Local runs and servers use it. It never opens a file.
package logstream
