package plugin

import (
	"errors"
	"strings"
	"testing"
	"time"

	"zerodag/engine/param"
)

func TestAnswersThatAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`[]`:                                "it is not a JSON object",
		`{} {}`:                             "it is not valid JSON: more than one JSON value",
		"{\"store\": {\"a\": \"\xff\"}}":    "it is not UTF-8",
		`{"state": {}}`:                     "it has the unknown field 'state': did you mean 'store'?",
		`{"zzzzzzzzzzzzzzzzzzzz": 1}`:       "it has the unknown field 'zzzzzzzzzzzzzzzzzzzz': valid keys are export, store, subtasks, poll, error",
		`{"store": []}`:                     "Parameter 'store' must be an object",
		`{"error": {"message": 1, "x": 1}}`: "it has the unknown field 'error.x': valid keys are message",
		`{"error": {}}`:                     "Parameter 'message' is required but not set",
		`{"error": {"message": ""}}`:        "error.message is empty",
		`{"error": null}`:                   "Parameter 'error' is required but null",
		`{"error": {"message": "x"}, "store": {}}`:                          "'error' and 'poll' exclude other fields, but it has error, store",
		`{"poll": {"after": 1}, "subtasks": {}}`:                            "'error' and 'poll' exclude other fields, but it has poll, subtasks",
		`{"poll": {}}`:                                                      "Parameter 'after' is required but not set",
		`{"poll": {"after": 0}}`:                                            "poll.after must be from 1s to 720h0m0s",
		`{"poll": {"after": -9223372036854775808}}`:                         "poll.after must be from 1s to 720h0m0s",
		`{"poll": {"after": 9223372036854775807}}`:                          "poll.after must be from 1s to 720h0m0s",
		`{"poll": {"after": "1 second"}}`:                                   `Invalid duration for key 'after': 1 second (write it like "1d 2h 3m 4s")`,
		`{"poll": {"after": 1, "state": 1}}`:                                "Parameter 'state' must be an object",
		`{"poll": {"after": 1, "stat": {}}}`:                                "it has the unknown field 'poll.stat': did you mean 'poll.state'?",
		strings.Repeat(`{"store":`, 1001) + `1` + strings.Repeat(`}`, 1001): "it is not valid JSON: JSON is nested deeper than 1000",
	} {
		_, err := parseAnswer([]byte(text))
		if err == nil || err.Error() != want {
			t.Errorf("%.60s: got %v, want %s", text, err, want)
		}
		var config *param.ConfigError
		if errors.As(err, &config) {
			t.Errorf("%.60s: the program's mistake is reported as the project's", text)
		}
	}
}

// FuzzAnswer checks that every output of a program is read as an answer of one kind, within its bounds, or as an error.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		"", "{}", `{"store": {"a": 1}, "export": {"b": null}, "subtasks": {"+x": {"echo>": "x"}}}`,
		`{"poll": {"after": 1, "state": {"a": [1]}, "cancel": true}}`, `{"poll": {"after": "1d"}}`, `{"error": {"message": "x"}}`, `{"stores": 1}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		a, err := parseAnswer(content)
		if err != nil {
			if a != nil || err.Error() == "" {
				t.Fatalf("%q: %+v, %v", content, a, err)
			}
			return
		}
		result := a.result.Export.Len()+a.result.Store.Len()+a.result.Subtasks.Len() > 0
		if result && (a.poll != nil || a.failure != "") || a.poll != nil && a.failure != "" {
			t.Fatalf("%q is more than one kind of answer: %+v", content, a)
		}
		if a.poll != nil && (a.poll.after < time.Second || a.poll.after > maxPoll || a.poll.state == nil) {
			t.Fatalf("%q: %+v", content, a.poll)
		}
	})
}
