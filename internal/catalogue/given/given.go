// Package given checks and completes the parameters and the priority with which an attempt is started.
//
// The catalogue calls it for every start. It must not evaluate an expression or read a store.
package given

import (
	"fmt"
	"strings"
	"time"

	"zerodag/engine/dig"
	"zerodag/engine/dig/keys"
	"zerodag/engine/dig/lint/parameters"
	"zerodag/engine/param"
	"zerodag/internal/host"
	"zerodag/operators"
)

// Params holds the parameters that a caller passes to a start.
type Params struct {
	Map     *param.Map
	Outside bool // they come from a caller who must not decide what tasks do
	Again   bool // the start is another attempt of a session
}

// For returns the parameters as an attempt of the workflow receives them: marked as data, so that nothing in them is
// ever evaluated, and checked against the `params` in the workflow's definition.
func (p Params) For(workflow string, config *param.Map) (*param.Map, error) {
	if p.Outside {
		if err := CheckSteering(p.Map); err != nil {
			return nil, err
		}
	}
	if err := CheckSize(p.Map); err != nil {
		return nil, err
	}
	return Declared(workflow, config, param.DataMap(p.Map), p.Again)
}

// Declared converts the parameters of a start to the types that the workflow's `params` declares, and adds defaults.
// One error lists all violations. again means that the start is another attempt of a session.
func Declared(workflow string, config, params *param.Map, again bool) (*param.Map, error) {
	declared := keys.ParamsOf(config)
	if len(declared.List) == 0 && !declared.Closed {
		return params, nil
	}
	filled, faults := declared.Fill(params, again)
	if len(faults) > 0 {
		return nil, host.Invalidf("Workflow '%s' cannot start with these parameters: %s", workflow, strings.Join(faults, "; "))
	}
	return filled, nil
}

// UndeclaredWarnings returns warnings about start parameters that the workflow's `params` does not declare.
func UndeclaredWarnings(config, params *param.Map) []string {
	var warnings []string
	for _, name := range keys.ParamsOf(config).Undeclared(params) {
		warnings = append(warnings, fmt.Sprintf("parameter '%s' is not declared in `params` of the workflow", name))
	}
	return warnings
}

// Warnings returns the warnings about all parameters of a start that are undeclared or that nothing in the workflow
// reads.
func Warnings(config, params *param.Map) []string {
	warnings := UndeclaredWarnings(config, params)
	if declared := keys.ParamsOf(config); len(declared.List) == 0 {
		for _, e := range parameters.Unread(config, params) {
			warnings = append(warnings, e.Message)
		}
	}
	return warnings
}

// ForSession adds the parameters that a workflow with a schedule provides to an attempt's parameters (engine.md
// 2.3). lastExecuted is zero if no session was started earlier.
func ForSession(config *param.Map, zone *time.Location, session, lastExecuted time.Time, params *param.Map) (*param.Map, error) {
	if params == nil {
		params = param.New()
	}
	s, err := dig.ScheduleHere(config, zone)
	if s == nil || err != nil {
		return params, err
	}
	iso := func(t time.Time) string { return operators.FormatTime(t.In(zone)) }
	if last := s.Last(session); !last.IsEnded() { // a once> schedule has no session before its first one
		params = param.Merge(params, param.New("last_session_time", iso(last.Time)))
	}
	params = param.Merge(params, param.New("next_session_time", iso(s.Next(session).Time)))
	if last, next, ok := s.BusinessDates(session); ok {
		params = param.Merge(params, param.New("last_business_date", last, "next_business_date", next))
	}
	if !lastExecuted.IsZero() {
		params = param.Merge(params, param.New("last_executed_session_time", iso(lastExecuted)))
	}
	return params, nil
}

// Priority reads a request's priority keyword.
func Priority(word string) (int, error) {
	p, known := keys.ParsePriority(word)
	if !known {
		return 0, host.Invalidf("unknown priority %q: use highest, high, normal, low or lowest", word)
	}
	return p, nil
}

// Limits on the parameters of a start, because every task in the attempt sees all of its parameters.
const (
	mostText   = 1 << 20 // bytes as JSON
	mostValues = 100_000
)

// CheckSize refuses parameters that exceed the limits.
func CheckSize(params *param.Map) error {
	if n := values(params); n > mostValues {
		return &host.Error{Code: host.TooLarge, Message: fmt.Sprintf("The parameters have %d values, but at most %d are allowed: store the data where tasks can read it", n, mostValues)}
	}
	if n := len(param.Text(params)); n > mostText {
		return &host.Error{Code: host.TooLarge, Message: fmt.Sprintf("The parameters take up %d bytes, but at most %d are allowed: store the data where tasks can read it", n, mostText)}
	}
	return nil
}

// values counts all values in a tree.
func values(v param.Value) int {
	n := 1
	switch x := v.(type) {
	case *param.Map:
		for _, e := range x.All() {
			n += values(e)
		}
	case []param.Value:
		for _, e := range x {
			n += values(e)
		}
	}
	return n
}

// CheckSteering refuses parameters from outside callers that would decide what tasks do.
func CheckSteering(params *param.Map) error {
	if err := operators.CheckSteering(params); err != nil {
		return &host.Error{Code: host.Forbidden, Message: "Access denied: " + err.Error()}
	}
	return nil
}
