package dig

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"zerodag/engine/dig/keys"

	"zerodag/engine/dig/letters"
	"zerodag/engine/param"
	"zerodag/engine/schedule"
)

// zoneOf reads `timezone`.
func zoneOf(v param.Value) (string, error) {
	name, err := param.AsString("timezone", v)
	if err != nil {
		return "", err
	}
	_, err = schedule.Zone(name)
	return schedule.ZoneID(name), err
}

// scheduleFaults lists mistakes below `schedule`: keys that are never read, which only a push rejects in a file without
// `zerodag: 1`, and all other mistakes. A null is a mistake, not "none".
func scheduleFaults(w Workflow) (unused, wrong []Problem) {
	v, ok := w.Config.Get("schedule")
	if !ok {
		return nil, nil
	}
	at := []string{"schedule"}
	if v == nil {
		return nil, []Problem{{Path: at, Error: Error{Message: "Parameter 'schedule' is required but null", Hint: keyHint("")}}}
	}
	config, ok := v.(*param.Map)
	if !ok {
		return nil, []Problem{{Path: at, Error: Error{
			Message: fmt.Sprintf("Expected object type for key 'schedule' but got %s (%s)", param.Sample(v), param.KindOf(v)), Hint: keyHint("")}}}
	}
	gated := w.Config.Has(keys.LevelKey)
	for _, u := range schedule.UnusedKeys(config, gated) {
		if len(unused) < MaxListed {
			unused = append(unused, Problem{Path: append(at[:1:1], u.Key), Error: Error{
				Message: "Parameter '" + u.Key + "' is not used at schedule.", Hint: unusedHint(u, gated)}})
		}
	}
	if gated {
		unused, wrong = nil, unused
	}
	if kind := addedKind(config); kind != "" && !gated {
		return nil, []Problem{{Path: append(at[:1:1], kind), Error: Error{
			Message: "Unknown scheduler type: " + strings.TrimSuffix(kind, ">"), Hint: keys.GateHint(kind)}}}
	}
	zone, err := schedule.Zone(w.Zone)
	if err == nil {
		_, err = ScheduleHere(w.Config, zone)
	}
	if err != nil {
		message := strings.TrimSpace(err.Error())
		key := faultyKey(config, message)
		wrong = append(wrong, Problem{Path: append(at[:1:1], key), Error: Error{Message: message, Hint: valueHint(key, config.Value(key))}})
	}
	return unused, wrong
}

// addedKind returns a schedule's type, as its key, if zerodag adds that type.
func addedKind(config *param.Map) string {
	kind, _, _ := keys.Operator(config)
	if slices.Contains(schedule.AddedKinds(), kind+">") {
		return kind + ">"
	}
	return ""
}

func unusedHint(u schedule.Unused, gated bool) string {
	switch {
	case u.Key == "timezone" || u.Key == "tz" || u.Key == "time_zone":
		return "write `timezone: Asia/Tokyo` at the top of the file, without indentation"
	case slices.Contains([]string{"enabled", "enable", "disabled", "disable", "active", "paused", "_disable"}, u.Key):
		return "remove it; `zerodag disable` stops the schedules of a pushed project, and `zerodag enable` resumes them"
	case u.Key == "delay":
		return "write the time after the schedule type; delay is only for cron> and intervals"
	case slices.Contains(schedule.AddedKeys(), u.Key):
		return keys.GateHint(u.Key)
	case strings.HasPrefix(u.Key, "+"), strings.HasPrefix(u.Key, "_"), u.Key == "!include":
		return "tasks and _export do not belong below schedule: check the indentation"
	case len(u.Near) > 0 && !gated && slices.Contains(schedule.AddedKeys(), u.Near[0]):
		return param.Asked(u.Near...) + " " + keys.GateHint(u.Near[0])
	case len(u.Near) > 0:
		return param.Asked(u.Near...)
	case strings.HasSuffix(u.Key, ">"):
		return "a workflow has only one schedule: remove the other"
	}
	return "remove it: a schedule has start, end, skip_on_overtime, skip_delayed_by, and delay with cron> and intervals"
}

// faultyKey returns the schedule key that a message is about: the key of its type, unless the message names another.
func faultyKey(config *param.Map, message string) (key string) {
	for _, k := range config.Keys() {
		switch {
		case strings.HasSuffix(k, ">"), k == "_type":
			key = k
		case strings.Contains(message, "'"+k+"'"), strings.HasPrefix(message, "Invalid "+k+":"), strings.HasPrefix(message, k+" of a schedule"), strings.HasPrefix(message, "The schedule of "+k+" "):
			return k
		}
	}
	return key
}

// valueHint is keyHint for a value that cannot be read.
func valueHint(key string, v param.Value) string {
	text, _ := v.(string)
	switch alike := strings.IndexFunc(text, letters.IsLookAlike); {
	case strings.Contains(text, "${"):
		return "${...} is not evaluated here: write the literal value"
	case alike >= 0:
		c, _ := utf8.DecodeRuneInString(text[alike:])
		return "there is " + letters.NameOf(c) + ": " + letters.Remedy(c)
	}
	return keyHint(key)
}

// keyHint returns how to write the value of a schedule's key, or which schedule types exist.
func keyHint(key string) string {
	switch key {
	case "":
		return "name its type, such as `daily>: 07:00:00`; the schedule types are " + strings.Join(schedule.Kinds(), ", ")
	case "skip_on_overtime":
		return "write true or false"
	case "skip_delayed_by":
		return "write a duration, such as 10m or 1h 30m"
	case "catch_up":
		return "write all, latest or none: which missed sessions run"
	case "skip_if_successful":
		return "write true or false"
	case "calendar":
		return "write the name of a project file, such as calendars/jp.yml, or the calendar itself: " + schedule.CalendarForm
	case "on_holiday":
		return "write skip, next or previous next to `calendar: FILE`"
	case "delay":
		return "write a whole number of seconds, such as 600"
	case "start":
		return "write the first day, such as 2024-01-31"
	case "end":
		return "write the last day, such as 2024-12-31, not before start"
	}
	if form := schedule.Form(strings.TrimSuffix(key, ">")); form != "" {
		return form
	}
	if near := param.Nearest(key, schedule.Kinds()); near != "" {
		return "did you mean " + near + "?"
	}
	return "the schedule types are " + strings.Join(schedule.Kinds(), ", ")
}

// Schedule reads a workflow's schedule as a push does; nil if it has none. zone is the workflow's time zone.
func Schedule(workflow *param.Map, zone *time.Location) (*schedule.Schedule, error) {
	return readSchedule(workflow, zone, schedule.Parse)
}

// ScheduleHere reads it as a local run does, which ignores keys that are never read.
func ScheduleHere(workflow *param.Map, zone *time.Location) (*schedule.Schedule, error) {
	return readSchedule(workflow, zone, schedule.ParseHere)
}

// readSchedule ignores keys that zerodag adds if the file does not enable them.
func readSchedule(workflow *param.Map, zone *time.Location, parse func(*param.Map, *time.Location) (*schedule.Schedule, error)) (*schedule.Schedule, error) {
	config := workflow.Map("schedule")
	if config == nil {
		return nil, nil
	}
	if !workflow.Has(keys.LevelKey) {
		config = config.Without(schedule.AddedKeys()...)
	}
	return parse(config, zone)
}

// SLAForm describes how to write `sla:`.
const SLAForm = "write `sla: {duration: \"02:00:00\"}` or `sla: {time: \"09:00:00\"}`"

// SLAFault returns why every start of a workflow is refused because of its `sla:`. A push of a file without `zerodag:
// 1` accepts it, as in Digdag.
func SLAFault(workflow *param.Map) error {
	v, _ := workflow.Get("sla")
	if v == nil {
		return nil
	}
	config, err := param.AsMap("sla", v)
	if err != nil {
		return err
	}
	_, err = schedule.ParseSLA(config)
	return err
}
