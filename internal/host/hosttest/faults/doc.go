// Package faults makes the host's ports fail on purpose: calls that are refused, responses that are lost, messages that
// are dropped, duplicated or late, and processes that crash. The same seed gives the same call the same fate in every
// run.
//
// Tests wrap their driver with it. It must never sleep longer than its rates allow, and must never change the meaning
// of a call for the driver below it.
package faults
