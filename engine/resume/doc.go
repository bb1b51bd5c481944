// Package resume determines what a new attempt carries over from an earlier one of its session: which tasks count as
// done, what they stored, and which of them a partial run skips.
//
// Hosts call it before they start an attempt; the state machine gets the result in its first event. It must never
// change a state.
package resume
