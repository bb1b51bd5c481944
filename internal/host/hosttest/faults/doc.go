// Package faults makes the ports of the host fail on purpose: calls that are refused, answers that are lost, messages
// that are dropped, doubled or late, and processes that crash. The same seed gives the same call the same fate in every
// run.
//
// Tests wrap the driver that they run with it. It must never sleep on its own account longer than its rates allow, and
// must never change what a call means to the driver below it.
package faults
