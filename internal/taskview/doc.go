// Package taskview shows the tasks of an attempt to users: as a live tree, as output lines with task names, or as one
// line for each change.
//
// Local runs use it, and so do `zerodag watch` and `zerodag log`. It reads states and never changes them.
package taskview
