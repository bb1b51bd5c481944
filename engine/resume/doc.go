// Package resume finds out what a new attempt takes over from an earlier one of its session: which tasks count as done, what they
// stored, and which of them a run of a part leaves out.
//
// Hosts call it before they start an attempt; the state machine gets the result in its first event. It must never change a state.
package resume
