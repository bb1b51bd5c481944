//go:build !linux

package uptime

import "time"

// sinceBoot returns false because Go offers no clock that counts sleep on this system.
func sinceBoot() (time.Duration, bool) { return 0, false }
