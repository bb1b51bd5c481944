package schedule

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"zerodag/engine/param"
)

// SLA is a parsed `sla:`: when a running attempt is late, and what happens then.
type SLA struct {
	Alert bool       // notify "SLA violation"; true unless disabled
	Fail  bool       // fail the attempt
	Tasks *param.Map // the remaining keys: the tasks to run; may be empty

	isTime               bool // a time of day, otherwise a duration
	hour, minute, second int64
}

// ParseSLA reads the mapping under `sla:`. Digdag does so when an attempt is started; `zerodag check` may do it
// earlier.
func ParseSLA(config *param.Map) (*SLA, error) {
	at, hasTime := config.Get("time")
	in, hasDuration := config.Get("duration")
	hasTime, hasDuration = hasTime && at != nil, hasDuration && in != nil
	if hasTime == hasDuration {
		return nil, param.Errorf("SLA must be specified using either the 'time' or 'duration' option")
	}
	s := &SLA{Alert: true, Tasks: config.Without(SLAKeys()...), isTime: hasTime}
	option, value := "duration", in
	if hasTime {
		option, value = "time", at
	}
	if err := s.readClock(option, value); err != nil {
		return nil, err
	}
	s.Alert, s.Fail = choice(config, "alert", true), choice(config, "fail", false)
	return s, nil
}

// SLAKeys returns the keys of `sla:` other than its tasks.
func SLAKeys() []string { return []string{"time", "duration", "alert", "fail"} }

// choice reads true or false; anything else is ignored, as in Digdag.
func choice(config *param.Map, key string, otherwise bool) bool {
	v, ok := config.Get(key)
	if !ok || v == nil {
		return otherwise
	}
	yes, err := param.AsBool(key, v)
	if err != nil {
		return otherwise
	}
	return yes
}

func (s *SLA) readClock(option string, value param.Value) error {
	text, err := param.AsString(option, value)
	if err != nil {
		return err
	}
	n, err := clockNumbers(text)
	if err != nil || len(n) < 2 || len(n) > 3 {
		return param.Errorf("SLA %s option needs to be HH:MM or HH:MM:SS format: %s", option, text)
	}
	s.hour, s.minute = n[0], n[1]
	if len(n) == 3 {
		s.second = n[2]
	}
	return nil
}

// Due returns when an attempt that started at run is late. A time of day means that time on run's day in zone, or 24
// hours later if it has already passed.
func (s *SLA) Due(run time.Time, zone *time.Location) time.Time {
	if !s.isTime {
		return run.Add(time.Duration(s.hour*3600+s.minute*60+s.second) * time.Second)
	}
	y, m, d := run.In(zone).Date()
	day := wall(clock{year: y, month: int(m), day: d})
	due := time.Unix(resolveWall(day+s.hour*3600+s.minute*60+s.second, zone), int64(run.Nanosecond()))
	if due.Before(run) {
		due = due.Add(24 * time.Hour)
	}
	return due.In(zone)
}

var errClock = errors.New("not a time of day")

// maxClock limits each number in a time of day, so that sums stay far from overflow.
const maxClock = 1 << 20

// clockNumbers splits "1:2:3" into its numbers. Trailing colons are ignored, as in Digdag.
func clockNumbers(text string) ([]int64, error) {
	parts := strings.Split(strings.TrimRight(text, ":"), ":")
	out := make([]int64, 0, len(parts))
	for _, p := range parts {
		n, err := strconv.ParseInt(p, 10, 32)
		if err != nil || n > maxClock || n < -maxClock {
			return nil, errClock
		}
		out = append(out, n)
	}
	return out, nil
}
