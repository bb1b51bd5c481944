// Package attemptview shows a server's attempts to users: tasks as they change, logs as they grow and, at the end, the
// failed tasks with their source location and a remedy.
//
// It queries the server through package client and draws through package taskview. It never changes anything on a
// server.
package attemptview
