package run

import (
	"time"

	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/operators"
)

// The formats of times in built-in variables (language.md 1.6).
const (
	dateForm    = "2006-01-02"
	compactForm = "20060102"
	localForm   = "2006-01-02 15:04:05"
	offsetForm  = "-0700"
)

// variables returns the built-in variables of a run; they override everything but the task's own keys.
func (j *Job) variables() *param.Map {
	m := param.New("timezone", j.Zone, "session_uuid", j.SessionUUID,
		"session_time", operators.FormatTime(j.SessionTime), "session_id", j.SessionID)
	setTimes(m, "session_", j.SessionTime)
	zone := j.SessionTime.Location()
	for _, prefix := range []string{"last_session_", "last_executed_session_", "next_session_"} {
		v, given := j.Vars.Get(prefix + "time")
		text, _ := v.(string)
		if t, err := time.Parse(operators.TimeForm, text); err == nil {
			setTimes(m, prefix, t.In(zone))
		} else if prefix == "last_executed_session_" && (!given || v == nil) {
			setNoTimes(m, prefix, zone)
		}
	}
	m.Set("project_id", j.ProjectID)
	if j.RetryAttemptName != "" {
		m.Set("retry_attempt_name", j.RetryAttemptName)
	}
	m.Set("attempt_id", j.AttemptID)
	m.Set("task_name", j.TaskName)
	if _, _, handles := engine.HandlerOf(j.TaskName); handles && j.Vars.Map("error") != nil {
		m.Set("error", param.New("attempt", j.AttemptID)) // merged with what the engine puts there
	}
	return m
}

// SessionTimes returns the built-in variables that identify the session, in the zone of the time.
func SessionTimes(session time.Time) *param.Map {
	m := param.New("session_time", operators.FormatTime(session))
	setTimes(m, "session_", session)
	return m
}

// VariableNames returns the names of all built-in variables.
func VariableNames() []string {
	j := &Job{Vars: param.New()}
	times := []string{"last_session_time", "last_executed_session_time", "next_session_time"}
	for _, name := range times {
		j.Vars.Set(name, operators.FormatTime(time.Unix(0, 0).UTC()))
	}
	j.SessionTime, j.RetryAttemptName = time.Unix(0, 0).UTC(), "again"
	return append(times, j.variables().Keys()...)
}

// FixedNames returns the built-in variables that no parameter of a start overrides.
func FixedNames() []string {
	return append(SessionTimes(time.Unix(0, 0).UTC()).Keys(), "timezone", "project_id", "task_name", "session_id", "session_uuid", "attempt_id")
}

func setTimes(m *param.Map, prefix string, t time.Time) {
	m.Set(prefix+"date", t.Format(dateForm))
	m.Set(prefix+"date_compact", t.Format(compactForm))
	m.Set(prefix+"local_time", t.Format(localForm))
	m.Set(prefix+"tz_offset", t.Format(offsetForm))
	m.Set(prefix+"unixtime", t.Unix())
}

// setNoTimes sets the values for an attempt that no schedule started: text values are empty, and the offset is the one
// at the epoch (a Digdag quirk).
func setNoTimes(m *param.Map, prefix string, zone *time.Location) {
	for _, k := range []string{"time", "date", "date_compact", "local_time"} {
		m.Set(prefix+k, "")
	}
	m.Set(prefix+"tz_offset", time.Unix(0, 0).In(zone).Format(offsetForm))
	m.Set(prefix+"unixtime", "")
}
