package engine_test

import (
	"strings"
	"testing"

	"zerodag/engine"
	"zerodag/engine/dig"
	"zerodag/engine/enginetest"
	"zerodag/engine/param"
)

// texts returns the stored forms of an attempt that contains most kinds of changes.
func texts(tb testing.TB) (def *engine.Definition, changes, states []string) {
	tb.Helper()
	config := param.New("sla", param.New("duration", "00:01"),
		"+g", param.New("_retry", int64(1), "+a", param.New("echo>", "x"), "+b", param.New("echo>", "x", "_export", param.New("k", 1.5))))
	def, err := engine.Define(dig.Workflow{Name: "wf", Zone: "UTC", Config: config})
	if err != nil {
		tb.Fatal(err)
	}
	s := engine.New(def, nil)
	by := engine.By{Guard: "m"}
	run := func(id engine.TaskID) engine.Run { return engine.Run{Task: id, Dispatch: s.Task(id).Dispatch} }
	for _, e := range []func() engine.Event{
		func() engine.Event { return engine.Start{By: by, Params: param.New("x", int64(1)), Limit: 2000} },
		func() engine.Event { return engine.Later{By: by, Run: run(3), After: 1, State: param.New("n", "é")} },
		func() engine.Event {
			return engine.Succeeded{By: by, Run: run(3), Result: engine.Outcome{Subtasks: enginetest.Loop(300, true),
				Stores: param.New("s", nil), ResetStore: [][]string{{"a", "b"}}}}
		},
		func() engine.Event { return engine.GoOn{By: by} },
		func() engine.Event { return engine.Errored{By: by, Run: run(6), Error: param.New("message", "m")} },
		func() engine.Event { return engine.SLADue{By: by} },
		func() engine.Event { return engine.Kill{By: by} },
	} {
		text, err := engine.EncodeChanges(step(tb, s, e()))
		if err != nil {
			tb.Fatal(err)
		}
		state, err := engine.EncodeState(s)
		if err != nil {
			tb.Fatal(err)
		}
		changes, states = append(changes, string(text)), append(states, string(state))
	}
	return def, changes, states
}

// smallSeed excludes seeds with hundreds of tasks: the fuzzer would spend its time reducing them.
const smallSeed = 4000

// FuzzDecodeChanges checks that no text causes a panic, and that decoded changes survive being written and read again.
func FuzzDecodeChanges(f *testing.F) {
	_, changes, _ := texts(f)
	for _, c := range append(changes, `[{"k":"new","v":{}}]`, `[{"k":"grow","v":{"owner":1,"first":2,"total":99999999999,"next":1}}]`, `[]`, `{`) {
		if len(c) < smallSeed {
			f.Add(c)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		first, err := engine.DecodeChanges([]byte(text))
		if err != nil {
			return
		}
		once, err := engine.EncodeChanges(first)
		if err != nil {
			return // a time beyond the year 9999: RFC 3339 cannot represent it
		}
		second, err := engine.DecodeChanges(once)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, once)
		}
		twice, err := engine.EncodeChanges(second)
		if err != nil || string(once) != string(twice) {
			t.Fatalf("read and written again it differs: %v\n%s\n%s", err, once, twice)
		}
	})
}

// FuzzDecodeState checks that no text causes a panic, and that a decoded state survives being written and read again.
func FuzzDecodeState(f *testing.F) {
	def, _, states := texts(f)
	for _, s := range append(states, `{"size":10000000}`,
		`{"size":4,"tasks":[{"id":1,"to":{"state":5}},{"id":2,"node":{"Name":"+wf+a^sub"},"parent":1,"to":{"state":5}}],"growing":[{"owner":1,"first":2,"total":3,"next":1,"guard":"m"}]}`,
		`{"size":1,"tasks":[{"id":1,"to":{"state":77}}]}`,
		`{"size":2,"tasks":[{"id":1,"to":{"state":5}},{"id":2,"node":{},"parent":1,"up":[2],"to":{"state":0}}]}`) {
		if len(s) < smallSeed {
			f.Add(s)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		first, err := engine.DecodeState(def, nil, []byte(text))
		if err != nil {
			return
		}
		first.Outstanding("m")
		once, err := engine.EncodeState(first)
		if err != nil {
			return // a time beyond the year 9999
		}
		second, err := engine.DecodeState(def, nil, once)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, once)
		}
		twice, err := engine.EncodeState(second)
		if err != nil || string(once) != string(twice) {
			t.Fatalf("read and written again it differs: %v\n%s\n%s", err, once, twice)
		}
	})
}

// TestDecodeRefuses checks that decoding text that no attempt wrote returns an error with a reason.
func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{`:                    "decode changes: unexpected end",
		`[{"k":"task","v":7}]`: "decode change 0:",
		`[{"k":"future"}]`:     `unknown kind "future": written by a newer version`,
		`[{"k":"task","v":{"task":0,"to":{"state":4}}}]`:                                   "task 0 does not exist",
		`[{"k":"task","v":{"task":1,"to":{"state":44}}}]`:                                  "unknown state 44",
		`[{"k":"add","v":{"parent":1,"first":1}}]`:                                         "tasks below 1 cannot have ids from 1",
		`[{"k":"add","v":{"parent":1,"first":2,"after":[2]}}]`:                             "task 2 cannot wait for task 2",
		`[{"k":"add","v":{"parent":1,"first":2,"nodes":[{"Parent":0}]}}]`:                  "node 0 cannot have the parent 0",
		`[{"k":"add","v":{"parent":1,"first":2,"nodes":[{"Parent":-1,"Upstreams":[0]}]}}]`: "node 0 cannot wait for node 0",
		`[{"k":"again","v":{"group":3,"first":3}}]`:                                        "copies below 3 cannot have ids from 3",
		`[{"k":"grow","v":{"owner":1,"first":2,"total":5,"next":6}}]`:                      "task 2 cannot have generated subtasks",
	} {
		if _, err := engine.DecodeChanges([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	def, _, states := texts(t)
	for _, text := range []string{`[]`, `{}`, `{"size":1}`, strings.Replace(states[0], `"size":4`, `"size":3`, 1),
		strings.Replace(states[0], `"id":1,`, `"id":5,`, 1), strings.Replace(states[2], `"total":301`, `"total":3`, 1)} {
		if _, err := engine.DecodeState(def, nil, []byte(text)); err == nil {
			t.Errorf("no error for %.80s", text)
		}
	}
}
