//go:build !linux

package uptime

import "time"

// sinceBoot returns false because, on this system, Go offers no clock that includes sleep.
func sinceBoot() (time.Duration, bool) { return 0, false }
