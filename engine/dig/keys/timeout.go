package keys

import (
	"time"

	"zerodag/engine/dig/rule"
	"zerodag/engine/param"
)

// Timeout is an evaluated `_timeout` of a task or group. Zero means no limit.
type Timeout struct {
	Try   time.Duration // for each run of an operator and each iteration of a group
	Total time.Duration // from the first start, including all waits
	Warn  time.Duration // time after which users are warned that a try is slow; it continues
	Grace time.Duration // between the request to end and the kill, for commands
}

// usualGrace is the default grace.
const usualGrace = 10 * time.Second

const timeoutForm = "write `_timeout: 30m`, or {try: 30m, total: 2h, warn: 20m, grace: 10s}"

func timeoutKey() Key {
	return Key{
		Name: "_timeout", Where: AtTop | AtGroup | AtTask,
		Doc:   "how long the task may take before it is killed and fails",
		Check: checkTimeout,
		Schema: func(rule.Meaning) rule.Schema {
			return rule.Schema{"type": []any{"string", "object"}}
		},
		Prepare: func(v param.Value, to *Prepared) error {
			t, err := ParseTimeout(v)
			if err == nil {
				to.Timeout = &t
			}
			return err
		},
	}
}

// ParseTimeout reads an evaluated `_timeout`.
func ParseTimeout(v param.Value) (Timeout, error) {
	t := Timeout{Grace: usualGrace}
	fault := ""
	readTimeout(v, &t, false, func(_ []string, message, _ string) {
		if fault == "" {
			fault = message
		}
	})
	if fault != "" {
		return Timeout{}, param.Errorf("%s: %s", fault, timeoutForm)
	}
	return t, nil
}

// checkTimeout requires limits that a task can have, judging by the text alone.
func checkTimeout(_ string, v param.Value, report rule.Report) {
	readTimeout(v, &Timeout{}, true, report)
}

// set reads one of the durations, and returns what is wrong with it.
func (t *Timeout) set(key string, v param.Value, what string) (fault string) {
	to := map[string]*time.Duration{"try": &t.Try, "total": &t.Total, "warn": &t.Warn, "grace": &t.Grace}[key]
	if to == nil {
		return "unknown key '" + key + "' of _timeout"
	}
	text, isText := v.(string)
	d, ok := param.ParseDuration(text)
	*to = d
	if !isText || !ok || d == 0 && key != "grace" {
		return what + " must be a duration, such as 1h 30m: " + param.Sample(v)
	}
	return ""
}

// readTimeout reads all durations; if open, `${...}` may stand for anything.
func readTimeout(v param.Value, t *Timeout, open bool, report rule.Report) {
	m, isMap := v.(*param.Map)
	if !isMap {
		m = param.New("try", v)
	}
	at := func(key string) []string {
		if !isMap {
			return nil
		}
		return []string{key}
	}
	sound := true
	for key, v := range m.All() {
		if text, _ := v.(string); open && Computed(text) {
			continue
		}
		what := "'_timeout'"
		if isMap {
			what = key + " of _timeout"
		}
		if fault := t.set(key, v, what); fault != "" {
			report(at(key), fault, timeoutForm)
			sound = false
		}
	}
	if !sound {
		return
	}
	if !m.Has("try") && !m.Has("total") && !m.Has("warn") {
		report(nil, "'_timeout' sets no limit", timeoutForm)
	} else if key, fault := t.contradiction(); fault != "" {
		report(at(key), fault, timeoutForm)
	}
}

// contradiction returns which of the durations makes no sense given the others, and why; "" if they all make sense.
func (t *Timeout) contradiction() (key, fault string) {
	switch {
	case t.Total > 0 && t.Total < t.Try:
		return "total", "total of _timeout is shorter than try"
	case t.Warn > 0 && t.Try > 0 && t.Warn >= t.Try:
		return "warn", "warn of _timeout must be shorter than try, otherwise it is never sent"
	case t.Warn > 0 && t.Total > 0 && t.Warn >= t.Total:
		return "warn", "warn of _timeout must be shorter than total, otherwise it is never sent"
	}
	return "", ""
}
