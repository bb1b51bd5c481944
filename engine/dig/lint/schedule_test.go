package lint

import (
	"testing"
	"time"

	"zerodag/engine/dig"
)

// TestSchedulesThatMeanAnother checks the warnings about schedules whose times are probably unintended, and the
// suggested corrections.
func TestSchedulesThatMeanAnother(t *testing.T) {
	t.Parallel()
	known := foreignKnown()
	known.Now = time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	const tasks = "\n+a: {sh>: x}"
	wantTold(t, known, nil, map[string]string{
		"schedule: {daily>: 07:00:00, at: 08:00:00}" + tasks:             "at of the schedule is ignored because daily> has a value",
		"schedule: {cron>: \"* 7 * * *\"}" + tasks:                       "write \"0 7 * * *\" for once in that hour, or \"0-59 7 * * *\"",
		"schedule: {minutes_interval>: 7}" + tasks:                       "the last interval of each hour is 4 minutes",
		"schedule: {daily>: 07:00:00, timezone: UTC}" + tasks:            "at the top of the file",
		"schedule: {daily>: 07:00:00, enabled: false}" + tasks:           "`zerodag disable` stops",
		"schedule: {daily>: 07:00:00, delay: 600}" + tasks:               "delay is only for cron> and intervals",
		"schedule: {daily>: \"${at}\"}" + tasks:                          "${...} is not evaluated here",
		"timezone: ${z}" + tasks:                                         "${...} is not evaluated here",
		"schedule: {daily>: “07:00:00”}" + tasks:                         "typographic quote",
		"schedule: {cron>: \"0 7 * * 1–5\"}" + tasks:                     "there is a typographic dash (–)",
		"zerodag: 1\nschedule: {once>: \"2020-01-01 07:00:00\"}" + tasks: "write a later time after `once>`",
		"schedule: {daily>: 07:00:00, end: 2020-01-01}" + tasks:          "or change its `end`",
		// valid
		"schedule: {daily>: null, at: 08:00:00}" + tasks:      "",
		"schedule: {cron>: \"0-59 7 * * *\"}" + tasks:         "",
		"schedule: {cron>: \"* 9-17 * * *\"}" + tasks:         "",
		"schedule: {cron>: \"*/7 * * * *\"}" + tasks:          "",
		"schedule: {minutes_interval>: 15}" + tasks:           "",
		"schedule: {minutes_interval>: 5, delay: 60}" + tasks: "",
	})
	raw, err := dig.LoadFile(mapFiles(map[string]string{"main.dig": "schedule: {daily>: 07:00:00, hourly>: \"30:00\"}" + tasks}), "main.dig")
	if err != nil {
		t.Fatal(err)
	}
	c := &critic{known: known, root: raw}
	if (schedules{c}).schedule(raw.Map("schedule")); len(c.found) > 0 {
		t.Errorf("a second schedule, which is not used, is reported as late: %v", c.found)
	}
}
