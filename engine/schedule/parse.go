package schedule

import (
	"math"
	"slices"
	"strings"
	"time"

	"zerodag/engine/param"
)

// Parse reads the mapping under `schedule:` as a push does; zone is the workflow's time zone. Every error is a
// param.ConfigError with Digdag's message.
func Parse(config *param.Map, zone *time.Location) (*Schedule, error) {
	if err := unusedKeys(config); err != nil {
		return nil, err
	}
	return ParseHere(config, zone)
}

// ParseHere reads it as a local run does, which ignores keys that are never read.
func ParseHere(config *param.Map, zone *time.Location) (*Schedule, error) {
	kind, command, err := kindOf(config)
	if err != nil {
		return nil, err
	}
	read, ok := reader(kind)
	if !ok {
		return nil, param.Errorf("Unknown scheduler type: %s", kind)
	}
	s := &Schedule{zone: zone}
	if err := s.readSkips(config); err != nil {
		return nil, err
	}
	if err := s.readBounds(config, kind); err != nil {
		return nil, err
	}
	if err := s.readAdded(config); err != nil {
		return nil, err
	}
	if command == nil {
		command, _ = config.Get("at")
	}
	if command == nil {
		return nil, param.Errorf("Parameter '_command' is required but not set at schedule: write it as %s>: ...", kind)
	}
	if err := read(s, command); err != nil {
		return nil, err
	}
	if slices.Contains(Keys(kind), "delay") { // for other kinds, the time is the delay
		if err := s.readDelay(config); err != nil {
			return nil, err
		}
	}
	return s, s.readCalendar(config, kind)
}

// kindOf finds the type of the schedule and its value.
func kindOf(config *param.Map) (kind string, command param.Value, err error) {
	if v, ok := config.Get("_type"); ok {
		kind, err = param.AsString("_type", v)
		command, _ = config.Get("_command")
		return kind, command, err
	}
	for key, value := range config.All() {
		if kind, ok := strings.CutSuffix(key, ">"); ok {
			return kind, value, nil
		}
	}
	return "", nil, param.Errorf("Schedule config requires 'type>: at' parameter: %s", param.Text(config))
}

// Unused is a key below `schedule:` that is never read.
type Unused struct {
	Key  string
	Near []string // keys that it may misspell; one of AddedKeys if that is nearest, even in a file that may not have them
}

// UnusedKeys lists the keys that are never read; none if the type of the schedule is unknown. added means that the file
// may have the keys that zerodag adds. Digdag also lists `delay` and `at`, by mistake: its documentation has them, so
// they are read here.
func UnusedKeys(config *param.Map, added bool) (list []Unused) {
	kind, _, err := kindOf(config)
	if _, known := reader(kind); err != nil || !known {
		return nil
	}
	used := []string{kind + ">"}
	if config.Has("_type") {
		used = []string{"_type", "_command"}
	}
	used = append(used, Keys(kind)...)
	if added {
		used = append(used, AddedKeys()...)
	}
	for _, key := range config.Keys() {
		if slices.Contains(used, key) {
			continue
		}
		near := param.Suggest(key, used)
		if nearest := param.Nearest(key, slices.Concat(used, AddedKeys())); !added && slices.Contains(AddedKeys(), nearest) {
			near = []string{nearest}
		}
		list = append(list, Unused{key, near})
	}
	return list
}

// Keys returns the keys that a schedule of the given kind may have in addition to AddedKeys and the key that names the
// kind, such as "daily>".
func Keys(kind string) []string {
	keys := []string{"skip_on_overtime", "skip_delayed_by", "start", "end"}
	switch kind {
	case "cron", "crontab", "once", "minutes_interval", "seconds_interval":
		return append(keys, "delay")
	}
	return append(keys, "at")
}

func unusedKeys(config *param.Map) error {
	var b strings.Builder
	for _, u := range UnusedKeys(config, true) {
		b.WriteString("Parameter '" + u.Key + "' is not used at schedule. ")
		if len(u.Near) > 0 {
			b.WriteString("> Did you mean '[" + strings.Join(u.Near, ", ") + "]'?")
		}
		b.WriteString("\n")
	}
	if b.Len() > 0 {
		return param.Errorf("%s", b.String())
	}
	return nil
}

func (s *Schedule) readDelay(config *param.Map) error {
	v, ok := config.Get("delay")
	if !ok || v == nil {
		return nil
	}
	n, err := param.AsInt("delay", v)
	if err != nil {
		return err
	}
	if n < math.MinInt32 || n > math.MaxInt32 {
		return param.Errorf("delay of a schedule is too long: %d seconds", n)
	}
	s.delay = time.Duration(n) * time.Second
	return nil
}

func (s *Schedule) readSkips(config *param.Map) (err error) {
	if v, ok := config.Get("skip_on_overtime"); ok && v != nil {
		if s.SkipOnOvertime, err = param.AsBool("skip_on_overtime", v); err != nil {
			return err
		}
	}
	if v, ok := config.Get("skip_delayed_by"); ok && v != nil {
		s.HasSkipDelayed = true
		s.SkipDelayedBy, err = param.AsDuration("skip_delayed_by", v)
	}
	return err
}

// readBounds reads start and end: both days are included, and both limit run times.
func (s *Schedule) readBounds(config *param.Map, kind string) (err error) {
	if kind == "seconds_interval" {
		return nil // Digdag reads neither for this kind
	}
	if s.start, err = s.day(config, "start", 0); err != nil {
		return err
	}
	if s.end, err = s.day(config, "end", 1); err != nil {
		return err
	}
	if !s.start.IsZero() && !s.end.IsZero() && !s.start.Before(s.end) {
		return param.Errorf("The schedule of end is earlier than start")
	}
	return nil
}

// day returns the local midnight of a date, plus days; zero if there is none.
func (s *Schedule) day(config *param.Map, key string, plus int) (time.Time, error) {
	v, ok := config.Get(key)
	if !ok || v == nil {
		return time.Time{}, nil
	}
	text, err := param.AsString(key, v)
	if err != nil {
		return time.Time{}, err
	}
	date, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return time.Time{}, param.Errorf("Invalid %s: %s (write an existing day, such as 2024-01-31)", key, text)
	}
	return StartOfDay(date.Year(), date.Month(), date.Day()+plus, s.zone), nil
}
