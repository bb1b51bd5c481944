// Package localrun runs one workflow of a folder in this process, for `zerodag run`: it chooses the session, reuses the
// saved results of an earlier run, shows the progress and reports the outcome.
//
// Package local runs the tasks. This package decides which tasks are skipped, saved and shown. It never decides what a
// task means.
package localrun
