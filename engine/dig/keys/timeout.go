package keys

import (
	"time"

	"zerodag/engine/dig/rule"
	"zerodag/engine/param"
)

// Timeout is what `_timeout` of a task or group asks for, evaluated. Zero is no bound.
type Timeout struct {
	Try   time.Duration // for each run of an operator and each round of a group
	Total time.Duration // from the first start on, with everything that it waits for
	Warn  time.Duration // of a try, after which people are told that it is slow, and it goes on
	Grace time.Duration // between the request to end and the force, for commands
}

// usualGrace is the one of who writes none.
const usualGrace = 10 * time.Second

const timeoutForm = "write `_timeout: 30m`, or {try: 30m, total: 2h, warn: 20m, grace: 10s}"

func timeoutKey() Key {
	return Key{
		Name: "_timeout", Where: AtTop | AtGroup | AtTask,
		Doc:   "how long the task may take before it is ended and fails",
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

// checkTimeout wants bounds that a task can have, as far as the text tells.
func checkTimeout(_ string, v param.Value, report rule.Report) {
	readTimeout(v, &Timeout{}, true, report)
}

// set reads one of the durations, and says what is wrong with it.
func (t *Timeout) set(key string, v param.Value, what string) (fault string) {
	to := map[string]*time.Duration{"try": &t.Try, "total": &t.Total, "warn": &t.Warn, "grace": &t.Grace}[key]
	if to == nil {
		return "'" + key + "' of _timeout is not read by anybody"
	}
	text, isText := v.(string)
	d, ok := param.ParseDuration(text)
	*to = d
	if !isText || !ok || d == 0 && key != "grace" {
		return what + " must be a duration, such as 1h 30m: " + param.Sample(v)
	}
	return ""
}

// readTimeout reads what is there; with open, `${...}` may stand for anything.
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
		report(nil, "'_timeout' bounds nothing", timeoutForm)
	} else if key, fault := t.contradiction(); fault != "" {
		report(at(key), fault, timeoutForm)
	}
}

// contradiction says which of the durations has no meaning beside the others, and why; "" if all have one.
func (t *Timeout) contradiction() (key, fault string) {
	switch {
	case t.Total > 0 && t.Total < t.Try:
		return "total", "the total of _timeout is shorter than one try"
	case t.Warn > 0 && t.Try > 0 && t.Warn >= t.Try:
		return "warn", "warn of _timeout comes when a try is over, and so never"
	case t.Warn > 0 && t.Total > 0 && t.Warn >= t.Total:
		return "warn", "warn of _timeout comes when the total is over, and so never"
	}
	return "", ""
}
