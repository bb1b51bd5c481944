package plugin

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"zerodag/engine/param"
	"zerodag/operators"
)

// maxAnswer is the maximum size of an answer in bytes: it becomes part of the attempt's state.
const maxAnswer = 1 << 20

// Limits on the time until the next poll.
const (
	minPoll = time.Second
	maxPoll = 30 * 24 * time.Hour
)

// answer is a program's output: a result, a poll or a failure.
type answer struct {
	result  operators.Result
	poll    *poll
	failure string
}

// poll requests another run.
type poll struct {
	after  time.Duration
	state  *param.Map
	cancel bool // whether to call the program if the attempt is killed in the meantime
}

// parseAnswer reads the answer file; the user's program wrote it, so it may contain anything. A missing answer is an
// empty result.
func parseAnswer(content []byte) (*answer, error) {
	a, err := parse(content)
	var wrong *param.ConfigError
	if errors.As(err, &wrong) {
		err = errors.New(wrong.Message) // the text comes from a program, not from the project
	}
	return a, err
}

func parse(content []byte) (*answer, error) {
	switch {
	case len(content) > maxAnswer:
		return nil, fmt.Errorf("it is %d bytes, but an answer may have at most %d: store large data in files or elsewhere", len(content), maxAnswer)
	case !utf8.Valid(content):
		return nil, errors.New("it is not UTF-8")
	case len(bytes.TrimSpace(content)) == 0:
		return &answer{}, nil
	}
	v, err := param.ParseJSON(string(content))
	if err != nil {
		return nil, fmt.Errorf("it is not valid JSON: %w", err)
	}
	top, isMap := v.(*param.Map)
	if !isMap {
		return nil, errors.New("it is not a JSON object")
	}
	if err := onlyKnown("", top, "export", "store", "subtasks", "poll", "error"); err != nil {
		return nil, err
	}
	return parseTop(top)
}

func parseTop(top *param.Map) (*answer, error) {
	if top.Len() > 1 && (top.Has("error") || top.Has("poll")) {
		return nil, fmt.Errorf("'error' and 'poll' exclude other fields, but it has %s", strings.Join(top.Keys(), ", "))
	}
	p, a := operators.NewParams(top), &answer{}
	var err error
	if a.result.Export, err = operators.ReadOr(p, "export", param.AsMap, nil); err != nil {
		return nil, err
	}
	if a.result.Store, err = operators.ReadOr(p, "store", param.AsMap, nil); err != nil {
		return nil, err
	}
	if a.result.Subtasks, err = operators.ReadOr(p, "subtasks", param.AsMap, nil); err != nil {
		return nil, err
	}
	if a.result.Subtasks.Len() == 0 {
		a.result.Subtasks = nil
	}
	if top.Has("poll") {
		m, err := operators.Read(p, "poll", param.AsMap)
		if err != nil {
			return nil, err
		}
		if a.poll, err = parsePoll(m); err != nil {
			return nil, err
		}
	}
	if top.Has("error") {
		m, err := operators.Read(p, "error", param.AsMap)
		if err != nil {
			return nil, err
		}
		if a.failure, err = parseFailure(m); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func parsePoll(m *param.Map) (*poll, error) {
	if err := onlyKnown("poll.", m, "after", "state", "cancel"); err != nil {
		return nil, err
	}
	p, q := operators.NewParams(m), &poll{}
	var err error
	if q.after, err = operators.Read(p, "after", seconds); err != nil {
		return nil, err
	}
	if q.after < minPoll || q.after > maxPoll {
		return nil, fmt.Errorf("poll.after must be from %v to %v", minPoll, maxPoll)
	}
	if q.state, err = operators.ReadOr(p, "state", param.AsMap, param.New()); err != nil {
		return nil, err
	}
	q.cancel, err = p.BoolOr("cancel", false)
	return q, err
}

// seconds reads a number of seconds, or a duration as the language writes it.
func seconds(key string, v param.Value) (time.Duration, error) {
	if text, isText := v.(string); isText {
		return param.AsDuration(key, text)
	}
	n, err := param.AsInt(key, v)
	if err != nil {
		return 0, err
	}
	if n < 0 || n > int64(maxPoll/time.Second) {
		return 0, nil // out of range, so it must not be multiplied
	}
	return time.Duration(n) * time.Second, nil
}

func parseFailure(m *param.Map) (string, error) {
	if err := onlyKnown("error.", m, "message"); err != nil {
		return "", err
	}
	message, err := operators.NewParams(m).String("message")
	if err == nil && message == "" {
		err = errors.New("error.message is empty")
	}
	return message, err
}

// onlyKnown refuses unknown keys: a misspelled key must not be ignored silently.
func onlyKnown(prefix string, m *param.Map, known ...string) error {
	for key := range m.All() {
		if slices.Contains(known, key) {
			continue
		}
		hint := "valid keys are " + strings.Join(known, ", ")
		if near := param.Suggest(key, known); len(near) > 0 {
			hint = "did you mean '" + prefix + near[0] + "'?"
		}
		return fmt.Errorf("it has the unknown field '%s%s': %s", prefix, key, hint)
	}
	return nil
}
