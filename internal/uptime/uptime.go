// Package uptime reads a clock that never jumps: neither an operator nor NTP can set it, and it counts the time during
// which the machine sleeps.
//
// Package embedded gives it to queues and operators. It must never be compared with the clock of a different process.
package uptime

import "time"

// Clock returns a clock that shows the correct time now and counts from there, or nil if the system has no clock that
// includes sleep.
func Clock() func() time.Time {
	since, ok := sinceBoot()
	if !ok {
		return nil
	}
	began := time.Now().Round(0)
	return func() time.Time {
		now, ok := sinceBoot()
		if !ok {
			panic("uptime: the clock since boot can no longer be read")
		}
		return began.Add(now - since)
	}
}
