package workflow

import (
	"regexp"
	"strings"
	"sync"
	"zerodag/engine/param"
	"zerodag/internal/dagu/document"
	"zerodag/internal/dagu/written"
)

// schedule turns cron patterns into a schedule.
func (w *Workflow) schedule() param.Value {
	patterns := w.patterns()
	if len(patterns) == 0 {
		return nil
	}
	s := param.New("crontab>", strings.Join(patterns, " | "))
	w.catchUp(s)
	if on, _ := w.Get("skip_if_successful"); on == true {
		s.Set("skip_if_successful", true)
	}
	if fault := w.impossible(s); fault != "" {
		w.Lost(w.Map, "schedule", "write `schedule` manually", "the schedule is not translated: %s", fault)
		return nil
	}
	return s
}

// patterns returns the cron patterns for starts.
func (w *Workflow) patterns() (patterns []string) {
	v, there := w.Get("schedule")
	if !there || v == nil {
		return nil
	}
	if m, isMap := v.(*param.Map); isMap {
		for _, key := range []string{"stop", "restart"} {
			if m.Has(key) {
				w.Lost(m, key, "write `_timeout`, or `sla: {time: ..., fail: true}`", "a schedule does not %s running attempts", key)
			}
		}
		v, _ = m.Get("start")
	}
	list, isList := v.([]param.Value)
	if !isList {
		list = []param.Value{v}
	}
	for _, e := range list {
		if m, isMap := e.(*param.Map); isMap {
			w.Only(m, "cron", "kind", "expression", "at")
			e, _ = m.Get("cron")
			if e == nil {
				e, _ = m.Get("expression")
			}
			if e == nil {
				w.Lost(w.Map, "schedule", "write `once>: 2026-01-31T07:00:00`", "a single time is a different kind of schedule")
			}
		}
		if t := document.TextOf(e); t != "" {
			patterns = append(patterns, t)
		}
	}
	return patterns
}

// catchUp sets in a schedule what happens to starts that were missed, or that are due while another run is active.
func (w *Workflow) catchUp(schedule *param.Map) {
	window, policy := document.Text(w.Map, "catchup_window"), document.Text(w.Map, "overlap_policy")
	switch {
	case window == "":
		schedule.Set("catch_up", "none")
	case policy == "latest":
		schedule.Set("catch_up", "latest")
	default:
		if d, ok := param.ParseDuration(window); !ok || d <= 0 {
			w.Lost(w.Map, "catchup_window", "write a duration such as 12h", "catchup_window is not a duration: %s", window)
			break
		}
		schedule.Set("catch_up", "all")
		schedule.Set("skip_delayed_by", window)
	}
	if policy != "all" && window != "" {
		schedule.Set("skip_on_overtime", true)
	}
}

// impossible returns the reason why a push would refuse a schedule; "" if it would not.
func (w *Workflow) impossible(schedule *param.Map) string {
	text := written.Print(w.Document, w.heading(),
		param.New("zerodag", int64(1), "schedule", schedule, "+task", param.New("echo>", "")))
	err := written.Check([]written.File{{Name: "schedule.dig", Text: text}})
	if err == nil {
		return ""
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return schedulePlace().ReplaceAllString(line, "")
}

var schedulePlace = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^schedule\.dig:[0-9]+:[0-9]+: `)
})
