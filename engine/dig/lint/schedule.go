package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"zerodag/engine/dig"
	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
	"zerodag/engine/schedule"
)

// schedules checks when a workflow runs, and when it counts as late.
type schedules struct{ *critic }

// missingDays warns about a monthly schedule on a day that some months do not have.
func (c schedules) missingDays(config *param.Map) {
	text, _ := config.Value("monthly>").(string)
	day, _, _ := strings.Cut(text, ",")
	if slices.Contains([]string{"29", "30", "31"}, strings.TrimSpace(day)) {
		c.warn([]string{"schedule", "monthly>"}, "", "for the last day of each month, write `cron>: \"0 7 L * *\"`", "months without a day %s have no session", strings.TrimSpace(day))
	}
}

func (c schedules) schedule(config *param.Map) {
	c.minutes(config)
	if v, _ := config.Get("daily>"); strings.HasPrefix(param.Text(v), `"-`) {
		c.warn([]string{"schedule", "daily>"}, "", "write a time of day, such as 07:00:00",
			"a negative time starts the session before its day begins")
	}
	if v, _ := config.Get("cron>"); v != nil {
		if text, ok := v.(string); ok && schedule.MeansAnother(text) {
			hint := "if both days of the month and weekdays are given, cron> requires both to match, while most programs require either"
			c.warn([]string{"schedule", "cron>"}, "", hint+"; `crontab>` in a file with `zerodag: 1` is the usual dialect", "cron> reads these times differently from most cron programs: %s", text)
		}
	}
	c.missingDays(config)
	for _, kind := range []string{"cron>", "crontab>"} {
		v, _ := config.Get(kind)
		if text, _ := v.(string); schedule.LargeStep(text) != "" {
			c.warn([]string{"schedule", kind}, "", "for an interval, use minutes_interval> or several patterns joined by |",
				"the step is larger than the field: %s matches only one value", schedule.LargeStep(text))
		}
	}
	c.everyMinute(config)
	if kind, key, v := keys.Operator(config); v != nil && config.Has("at") && slices.Contains(schedule.Keys(kind), "at") {
		c.warn([]string{"schedule", "at"}, "", "keep one of them", "at of the schedule is ignored because %s has a value", key)
	}
	c.lateStart(config)
}

// minutes warns about intervals that are not what their number suggests.
func (c schedules) minutes(config *param.Map) {
	place := []string{"schedule", "minutes_interval>"}
	n := config.Value("minutes_interval>")
	if n == nil {
		return
	}
	switch minutes, err := param.AsInt("", n); {
	case err == nil && minutes > 59:
		c.warn(place, "", "write `cron>: \"0 */2 * * *\"` for every two hours",
			"minutes_interval restarts every hour: %d means once an hour", minutes)
	case err == nil && minutes > 0 && 60%minutes != 0:
		c.warn(place, "", fmt.Sprintf("write `seconds_interval>: %d` for equal intervals, or a number that divides 60", minutes*60),
			"minutes_interval restarts every hour: the last interval of each hour is %d minutes", 60%minutes)
	}
}

// fixedHour matches a cron pattern for every minute of one hour.
var fixedHour = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*(\*|\*/1)\s+(\d{1,2})\s+(\S+\s+\S+\s+\S+)\s*$`) })

// everyMinute warns about a pattern that names an hour but no minute.
func (c schedules) everyMinute(config *param.Map) {
	for _, kind := range []string{"cron>", "crontab>"} {
		text, _ := config.Value(kind).(string)
		if m := fixedHour().FindStringSubmatch(text); m != nil {
			c.warn([]string{"schedule", kind}, "", fmt.Sprintf("write \"0 %s %s\" for once in that hour, or \"0-59 %s %s\" if you mean every minute", m[2], m[3], m[2], m[3]),
				"%s means every minute of hour %s: 60 sessions", text, m[2])
		}
	}
}

// calendarEnds is how long before the end of a calendar the warning starts.
const calendarEnds = 60 * 24 * time.Hour

// calendar warns about a calendar whose last holiday is near, and adds the variables that a calendar provides.
func (c schedules) calendar(w dig.Workflow) {
	zone, err := schedule.Zone(w.Zone)
	if err != nil {
		return
	}
	s, err := dig.ScheduleHere(w.Config, zone)
	if s == nil || err != nil {
		return
	}
	if turned := strings.NewReplacer("+", "-", "-", "+").Replace(w.Zone); strings.HasPrefix(w.Zone, "Etc/GMT") && turned != w.Zone && w.Zone != "Etc/GMT-0" && w.Zone != "Etc/GMT+0" {
		c.warn([]string{"timezone"}, "", "write a region, such as Europe/Paris, or "+turned, "%s means UTC%s: its sign is inverted", w.Zone, strings.TrimPrefix(turned, "Etc/GMT"))
	}
	if _, _, has := s.BusinessDates(time.Unix(0, 0)); has {
		c.known.Variables = slices.Concat(c.known.Variables, schedule.BusinessVariables())
	}
	if !c.known.Now.IsZero() && s.First(c.known.Now).IsEnded() {
		hint := "remove the schedule, or change its `end`"
		if keys.OperatorOf(w.Config.Map("schedule")) == "once" {
			hint = "write a later time after `once>`, or remove the schedule"
		}
		c.warn([]string{"schedule"}, "", hint, "this schedule has ended: it starts no more sessions")
	}
	if end := s.CalendarEnd(); !c.known.Now.IsZero() && !end.IsZero() && end.Sub(c.known.Now) < calendarEnds {
		c.warn([]string{"schedule", "calendar"}, "", "add later days and push the project again", "the calendar ends on %s", end.Format(time.DateOnly))
	}
}

// lateStart warns about a time that runs past its hour or day: the numbers are not limited.
func (c schedules) lateStart(config *param.Map) {
	s, err := schedule.ParseHere(config.Without(schedule.AddedKeys()...), time.UTC)
	if err != nil || config.Has("delay") && slices.Contains(schedule.Keys(keys.OperatorOf(config)), "delay") {
		return
	}
	first := s.First(time.Unix(0, 0))
	late := first.RunTime.Sub(first.Time)
	for _, kind := range []string{"hourly", "daily", "weekly", "monthly"} {
		if keys.OperatorOf(config) == kind && !first.IsEnded() && (late >= 24*time.Hour || late >= time.Hour && kind == "hourly") {
			c.warn([]string{"schedule", kind + ">"}, "", schedule.Form(kind), "this starts %v after the session time, on a later day or hour than it appears to", late)
		}
	}
}

// sla warns about an `sla:` that a push accepts but every start refuses, or ignores.
func (c schedules) sla(workflow *param.Map) {
	if err := dig.SLAFault(workflow); err != nil {
		c.warn([]string{"sla"}, "", dig.SLAForm, "every start of this workflow will be rejected: %v", err)
	}
	config := workflow.Map("sla")
	if config == nil {
		return
	}
	if at, _ := config.Value("time").(string); lateClock().MatchString(at) {
		c.warn([]string{"sla", "time"}, "", "write a time of day, such as 09:00:00, or `duration: 25:00:00`", "time of sla is on a later day than it appears to be: %s", at)
	}
	for _, key := range config.Keys() {
		if !strings.HasPrefix(key, "+") && !strings.HasPrefix(key, "_") && !strings.HasSuffix(key, ">") {
			c.unknownKey([]string{"sla"}, "", key, schedule.SLAKeys())
		}
	}
	for _, key := range []string{"alert", "fail"} {
		if v, _ := config.Get(key); v != nil {
			if _, err := param.AsBool(key, v); err != nil {
				c.warn([]string{"sla", key}, "", "write true or false", "%s of sla is ignored: %v", key, err)
			}
		}
	}
}

// lateClock matches a time beyond the end of the day, because its numbers are not limited.
var lateClock = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(2[4-9]|[3-9]\d|\d{3,}):|^[^:]*:([6-9]\d|\d{3,})|^[^:]*:[^:]*:([6-9]\d|\d{3,})`)
})
