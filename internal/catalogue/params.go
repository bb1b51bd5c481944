package catalogue

import (
	"context"
	"fmt"
	"strings"

	"zerodag/engine/dig/keys"
	"zerodag/engine/dig/lint/parameters"
	"zerodag/engine/param"
	"zerodag/internal/host"
	"zerodag/operators"
)

// given returns the parameters of a start as the attempt gets them, checked against the workflow's `params`.
func given(w host.Workflow, r StartRequest) (*param.Map, error) {
	params, err := asData(r)
	if err != nil {
		return nil, err
	}
	return Declared(w.Name, w.Config, params, r.RetryName != "")
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

// startWarnings returns the warnings about all parameters of a start: those that are undeclared, or that nothing in the
// workflow reads.
func startWarnings(config, params *param.Map) []string {
	warnings := UndeclaredWarnings(config, params)
	if declared := keys.ParamsOf(config); len(declared.List) == 0 {
		for _, e := range parameters.Unread(config, params) {
			warnings = append(warnings, e.Message)
		}
	}
	return warnings
}

// asData checks a start's parameters and marks all of them as data, so that nothing in them is ever evaluated.
func asData(r StartRequest) (*param.Map, error) {
	if r.Outside {
		if err := checkSteering(r.Params); err != nil {
			return nil, err
		}
	}
	if err := checkSize(r.Params); err != nil {
		return nil, err
	}
	return param.DataMap(r.Params), nil
}

// Limits on the parameters of a start, because every task in the attempt sees all of its parameters.
const (
	mostText   = 1 << 20 // bytes as JSON
	mostValues = 100_000
)

func checkSize(params *param.Map) error {
	if n := values(params); n > mostValues {
		return &host.Error{Code: host.TooLarge, Message: fmt.Sprintf("The parameters have %d values, but at most %d are allowed: store the data where tasks can read it", n, mostValues)}
	}
	if n := len(param.Text(params)); n > mostText {
		return &host.Error{Code: host.TooLarge, Message: fmt.Sprintf("The parameters take up %d bytes, but at most %d are allowed: store the data where tasks can read it", n, mostText)}
	}
	return nil
}

// values counts all values of a tree.
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

// mostEarlier limits how many attempts are searched to find one session's attempts.
const mostEarlier = 1000

// earlier lists the existing attempts of the session that is started again.
func (c lifecycle) earlier(ctx context.Context, w host.Workflow, r StartRequest) ([]host.Attempt, error) {
	list, err := c.o.Sessions.Attempts(ctx, host.AttemptQuery{Site: r.Site, Project: w.Project.ID, Workflow: w.Name, Retried: true, Count: mostEarlier})
	var same []host.Attempt
	for _, a := range list {
		if a.SessionTime.Equal(r.SessionTime) {
			same = append(same, a)
		}
	}
	return same, err
}

// checkSteering refuses parameters from outside that decide what tasks do.
func checkSteering(params *param.Map) error {
	if err := operators.CheckSteering(params); err != nil {
		return &host.Error{Code: host.Forbidden, Message: "Access denied: " + err.Error()}
	}
	return nil
}
