package schedule

import (
	"slices"
	"time"

	"zerodag/engine/param"
)

// instants are the times of `once>`, in order.
type instants []int64

// mostTimes limits how many times one schedule may have.
const mostTimes = 1000

// readOnce reads one local time or a list of them. A time that does not exist on the night when clocks go forward is
// moved by the missing hour; if a time occurs twice, the second one counts, as in all schedules.
func readOnce(s *Schedule, v param.Value) error {
	list, isList := v.([]param.Value)
	if !isList {
		list = []param.Value{v}
	}
	if len(list) == 0 || len(list) > mostTimes {
		return param.Errorf("once>: has %d times, but needs 1 to %d", len(list), mostTimes)
	}
	var times instants
	for _, v := range list {
		t, err := localTime(v)
		if err != nil {
			return err
		}
		times = append(times, Local(t, s.zone).Unix())
	}
	slices.Sort(times)
	s.times, s.exact = slices.Compact(times), true
	return nil
}

func localTime(v param.Value) (time.Time, error) {
	text, _ := v.(string)
	for _, form := range []string{"2006-01-02T15:04:05", time.DateTime} {
		if t, err := time.Parse(form, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, param.Errorf("once>: must be a time such as 2026-05-01T09:00:00, without a time zone: %s", param.Text(v))
}

func (l instants) next(after int64, _ *time.Location) (int64, bool) {
	i, _ := slices.BinarySearch(l, after+1)
	if i == len(l) {
		return 0, false
	}
	return l[i], true
}
