package schedule

import (
	"math"
	"strconv"
	"strings"
	"time"

	"zerodag/engine/param"
)

// reader returns the function that reads the value for a kind of schedule.
func reader(kind string) (func(*Schedule, param.Value) error, bool) {
	switch kind {
	case "hourly":
		return readHourly, true
	case "daily":
		return readDaily, true
	case "weekly":
		return readWeekly, true
	case "monthly":
		return readMonthly, true
	case "minutes_interval":
		return readMinutes, true
	case "seconds_interval":
		return readSeconds, true
	case "cron":
		return readCron, true
	case "crontab":
		return readCrontab, true
	case "once":
		return readOnce, true
	}
	return nil, false
}

// Kinds returns the keys that name the types of schedules.
func Kinds() []string {
	return []string{"hourly>", "daily>", "weekly>", "monthly>", "minutes_interval>", "seconds_interval>", "cron>"}
}

// AddedKinds returns the kinds that zerodag adds, for files with `zerodag: 1`.
func AddedKinds() []string { return []string{"crontab>", "once>"} }

// Form describes how to write the value for a kind of schedule, with an example. It is "" for an unknown kind.
func Form(kind string) string {
	switch kind {
	case "hourly":
		return "write minutes and seconds, mm:ss, such as `hourly>: 30:00`"
	case "daily":
		return "write a time of day, hh:mm:ss, such as `daily>: 07:00:00`"
	case "weekly":
		return "write a day and a time, day,hh:mm:ss, such as `weekly>: Mon,07:00:00`: the day is Sun to Sat, or 0 to 7"
	case "monthly":
		return "write a day of the month and a time, day,hh:mm:ss, such as `monthly>: 1,07:00:00`: the day is 1 to 31"
	case "minutes_interval":
		return "write a whole number of minutes, such as `minutes_interval>: 30`"
	case "seconds_interval":
		return "write a whole number of seconds above 0, such as `seconds_interval>: 90`"
	case "cron":
		return "write minute (0-59), hour (0-23), day of month (1-31 or L), month (1-12 or jan-dec) and weekday (0-7 or sun-sat), such as `cron>: \"30 7 * * mon-fri\"`"
	case "crontab":
		return "write minute (0-59), hour (0-23), day of month (1-31), month (1-12 or jan-dec) and weekday (0-7 or sun-sat), such as `crontab>: \"30 7 * * mon-fri\"`, or @hourly, @daily, @weekly, @monthly or @yearly"
	case "once":
		return "write a time, such as `once>: 2026-05-01T09:00:00`, or a list of times, in the time zone of the workflow"
	}
	return ""
}

func readHourly(s *Schedule, v param.Value) error {
	at, err := param.AsString("_command", v)
	if err != nil {
		return err
	}
	if s.delay, err = clockDelay(at, 2); err != nil {
		return param.Errorf("hourly>: scheduler requires mm:ss format: %s", at)
	}
	s.times, err = parsePattern("0 * * * *")
	return err
}

func readDaily(s *Schedule, v param.Value) error {
	at, err := param.AsString("_command", v)
	if err != nil {
		return err
	}
	if s.delay, err = clockDelay(at, 3); err != nil {
		return param.Errorf("daily> scheduler requires hh:mm:ss format: %s", at)
	}
	s.times, err = parsePattern("0 0 * * *")
	return err
}

func readWeekly(s *Schedule, v param.Value) error {
	text, err := param.AsString("_command", v)
	if err != nil {
		return err
	}
	wrong := param.Errorf("weekly>: scheduler requires day,hh:mm:ss format: %s", text)
	day, at, ok := strings.Cut(text, ",")
	if !ok {
		return wrong
	}
	day, at = strings.TrimSpace(day), strings.TrimSpace(at)
	if n, err := strconv.Atoi(day); err == nil && n < 0 {
		return param.Errorf("weekly>: invalid day: %s", day)
	}
	if s.delay, err = clockDelay(at, 3); err != nil {
		return param.Errorf("weekly> scheduler requires hh:mm:ss format: %s", at)
	}
	if s.times, err = parsePattern("0 0 * * " + day); err != nil {
		return wrong
	}
	return nil
}

func readMonthly(s *Schedule, v param.Value) error {
	text, err := param.AsString("_command", v)
	if err != nil {
		return err
	}
	day, at, ok := strings.Cut(text, ",")
	n, err := strconv.ParseInt(day, 10, 32)
	if !ok || err != nil {
		return param.Errorf("monthly>: scheduler requires day,hh:mm:ss format: %s", text)
	}
	if s.delay, err = clockDelay(at, 3); err != nil {
		return param.Errorf("monthly> scheduler requires hh:mm:ss format: %s", at)
	}
	s.times, err = parsePattern("0 0 " + strconv.FormatInt(n, 10) + " * *")
	return err
}

func readMinutes(s *Schedule, v param.Value) error {
	n, err := param.AsInt("_command", v)
	if err != nil {
		return err
	}
	s.times, err = parsePattern("*/" + strconv.FormatInt(n, 10) + " * * * *")
	return err
}

func readSeconds(s *Schedule, v param.Value) error {
	n, err := param.AsInt("_command", v)
	if err != nil {
		return err
	}
	if n < 1 || n > math.MaxInt32 {
		return param.Errorf("seconds_interval>: must be a whole number of seconds above 0: %d", n)
	}
	s.seconds = n
	return nil
}

func readCron(s *Schedule, v param.Value) error {
	text, err := param.AsString("_command", v)
	if err != nil {
		return err
	}
	s.times, err = parsePattern(text)
	return err
}

// clockDelay reads mm:ss or hh:mm:ss as elapsed time. The numbers are not checked
// against 24 or 60, and may be negative: "25:00:00" means 01:00 on the next day.
func clockDelay(at string, parts int) (time.Duration, error) {
	n, err := clockNumbers(at)
	if err != nil {
		return 0, err
	}
	if len(n) != parts {
		return 0, errClock
	}
	total := int64(0)
	for _, x := range n {
		total = total*60 + x
	}
	if total > math.MaxInt32 || total < math.MinInt32 {
		return 0, errClock
	}
	return time.Duration(total) * time.Second, nil
}
