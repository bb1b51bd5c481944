package dig

import (
	"path"
	"strings"

	"zerodag/engine/dig/keys"

	"zerodag/engine/param"
	"zerodag/engine/schedule"
)

// calendarOf reads the calendar that a file's schedule names. The calendar is stored instead of its name, so that a
// schedule that runs for years needs no file. It returns nil if there is none, and an empty mapping after an error,
// which was reported.
func (p *project) calendarOf(file string, raw *param.Map) *param.Map {
	name, ok := raw.Map("schedule").Value("calendar").(string)
	if !ok || !raw.Has(keys.LevelKey) {
		return nil
	}
	own := newProject(p.read)
	own.seen = p.seen
	at := []string{"schedule", "calendar"}
	if clean := path.Clean(name); clean != name || path.IsAbs(name) || strings.HasPrefix(name, "..") || name == "" || name == "." {
		p.errs = append(p.errs, p.located(file, raw, []Problem{{Path: at, Error: Error{
			Message: "'calendar' does not name a project file: " + param.Sample(name), Hint: "write its path relative to the project folder, such as calendars/jp.yml"}}})...)
		return param.New()
	}
	m := own.file(name)
	if m != nil && len(own.errs) == 0 {
		if _, key, err := schedule.ReadCalendar(m); err != nil {
			own.errs = append(own.errs, own.located(name, m, []Problem{{Path: []string{key}, Error: Error{Message: err.Error(), Hint: "write " + schedule.CalendarForm}}})...)
		}
	}
	if m == nil || len(own.errs) > 0 {
		for _, e := range own.errs {
			if e.Line == 0 { // the file itself is missing
				here := p.located(file, raw, []Problem{{Path: at, Error: Error{Message: e.Message, Hint: "a calendar is a project file; write its path relative to the project folder"}}})
				e = here[0]
			}
			p.errs = append(p.errs, e)
		}
		return param.New()
	}
	return m
}

// withCalendar replaces the file name of a calendar with the calendar that was read.
func withCalendar(config, calendar *param.Map) *param.Map {
	if calendar == nil {
		return config
	}
	scheduled := config.Map("schedule").Clone()
	scheduled.Set("calendar", calendar)
	config = config.Clone()
	config.Set("schedule", scheduled)
	return config
}
