package dig

import (
	"fmt"
	"slices"
	"strings"

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

// scheduleFaults lists what is wrong below `schedule`: keys that are never read, which only a
// push minds, and the rest. A null is a mistake, not "none".
func scheduleFaults(w Workflow) (unused, wrong []problem) {
	v, ok := w.Config.Get("schedule")
	if !ok {
		return nil, nil
	}
	at := []string{"schedule"}
	if v == nil {
		return nil, []problem{{path: at, Error: Error{Message: "Parameter 'schedule' is required but null"}}}
	}
	config, ok := v.(*param.Map)
	if !ok {
		return nil, []problem{{path: at, Error: Error{
			Message: fmt.Sprintf("Expected object type for key 'schedule' but got %s (%s)", sample(v), param.KindOf(v))}}}
	}
	for _, u := range schedule.UnusedKeys(config) {
		if len(unused) < maxListed {
			unused = append(unused, problem{path: append(at[:1:1], u.Key), Error: Error{
				Message: "Parameter '" + u.Key + "' is not used at schedule.", Hint: unusedHint(u)}})
		}
	}
	zone, err := schedule.Zone(w.Zone)
	if err == nil {
		_, err = schedule.ParseHere(config, zone)
	}
	if err != nil {
		wrong = append(wrong, problem{path: at, Error: Error{Message: strings.TrimSpace(err.Error()), Hint: kindHint(config)}})
	}
	return unused, wrong
}

func unusedHint(u schedule.Unused) string {
	switch {
	case strings.HasPrefix(u.Key, "+"), strings.HasPrefix(u.Key, "_"), u.Key == "!include":
		return "tasks and _export do not belong below schedule: check the indentation"
	case len(u.Near) > 0:
		return "did you mean [" + strings.Join(u.Near, ", ") + "]?"
	case strings.HasSuffix(u.Key, ">"):
		return "a workflow has one schedule: remove the other"
	}
	return "remove it: a schedule has start, end, skip_on_overtime, skip_delayed_by, and delay with cron> and intervals"
}

// kindHint names the types of schedules to the author of another one.
func kindHint(config *param.Map) string {
	for _, key := range config.Keys() {
		if strings.HasSuffix(key, ">") && !slices.Contains(schedule.Kinds(), key) {
			if near := param.Nearest(key, schedule.Kinds()); near != "" {
				return "did you mean " + near + "?"
			}
			return "the types of schedules are " + strings.Join(schedule.Kinds(), ", ")
		}
	}
	return ""
}
