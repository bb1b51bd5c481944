package schedule

import "time"

// before returns the session before current, regardless of start and end. Patterns cannot be walked backward. However,
// there is a session between an instant and current for instants up to that session, and none for later instants. So
// bisection finds it, starting farther and farther back. It is Ended if there is none within longestGap.
func (s *Schedule) before(current time.Time) Time {
	end := current.Unix()
	if current.Nanosecond() > 0 {
		end++
	}
	comesBefore := func(from int64) bool {
		next, ok := s.times.next(from, s.zone)
		return ok && next < end
	}
	low := end - 1
	for step := int64(60); !comesBefore(low); step *= 2 {
		if step > longestGap {
			return Time{Time: Ended().In(s.zone), RunTime: Ended()}
		}
		low = end - 1 - step
	}
	high := end - 1
	for high-low > 1 {
		if middle := low + (high-low)/2; comesBefore(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return s.at(high)
}

// longestGap is longer than the time between any two leap days, in seconds.
const longestGap = 20 * 366 * 86400
