package events_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/events"
)

var run = engine.Run{Task: 3, Dispatch: 2}

// TestForms checks that nothing about stored messages changes unnoticed: these strings are in the queues and logs of
// running deployments.
func TestForms(t *testing.T) {
	t.Parallel()
	for text, got := range map[string][]byte{
		`{"v":1,"runs":[{"task":3,"d":2}]}`:                             events.EncodeTask(events.Task{Runs: []engine.Run{run}}),
		`{"v":1,"then":{"event":"due","run":{"task":3,"d":2}}}`:         events.EncodeTask(events.Task{Then: &events.Event{Kind: events.Due, Run: &run}}),
		`{"v":1,"fire":[{"id":7,"run":60},{"site":2,"id":8,"run":60}]}`: events.EncodeTask(events.Task{Fire: []events.Firing{{Schedule: 7, Run: 60}, {Site: 2, Schedule: 8, Run: 60}}}),
		`{"v":1,"start":{"id":"e","time":"2026-01-02T03:04:05Z","project":"p","workflow":"w","times":1}}`: events.EncodeTask(events.Task{Start: &events.Starting{
			StartDetail: events.StartDetail{ID: "e", Time: time.Unix(1767323045, 0).UTC(), Project: "p", Workflow: "w"}, Times: 1}}),
		`{"v":1,"event":"results","results":[{"event":"later","run":{"task":3,"d":2},"after":5,"state":{}}]}`: events.Encode(events.Event{Kind: events.Results, Results: []events.Result{
			events.ResultOf(engine.Later{Run: run, After: 5, State: param.New()})}}),
		`{"v":1,"event":"revive"}`:                                                             events.Encode(events.Event{Kind: events.Revive}),
		`{"v":1,"event":"take_over","guard":"fence-1"}`:                                        events.Encode(events.Event{Kind: events.TakeOver, Guard: "fence-1"}),
		`{"v":1,"event":"kill"}`:                                                               events.Encode(events.Event{Kind: events.Kill}),
		`[{"event":"start"},{"event":"succeeded","run":{"task":3,"d":2}}]`:                     events.EncodeList([]events.Event{{Kind: events.Start}, events.Of(engine.Succeeded{Run: run})}),
		`[{"event":"lost","run":{"task":3,"d":2},"blameless":true}]`:                           events.EncodeList([]events.Event{events.Of(engine.Lost{Run: run, Blameless: true})}),
		`[{"event":"failed","run":{"task":3,"d":2}},{"event":"later","run":{"task":3,"d":2}}]`: events.EncodeList([]events.Event{events.Of(engine.Errored{Run: run}), events.Of(engine.Later{Run: run})}),
	} {
		if string(got) != text {
			t.Errorf("got %s, want %s", got, text)
		}
	}
}

// TestRoundTrip checks that the event arrives as it was sent, with the guard of its message.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	by := engine.By{Guard: "g"}
	for _, want := range []engine.Event{engine.GoOn{By: by}, engine.Kill{By: by}, engine.SLADue{By: by}, engine.Due{By: by, Run: run}} {
		e, err := events.Decode(events.Encode(events.Of(want)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]engine.Event{want}, e.Engine("g")); diff != "" {
			t.Error(diff)
		}
	}
}

// sameText compares trees by their text.
func sameText() cmp.Option {
	return cmp.Comparer(func(a, b *param.Map) bool {
		return string(param.AppendJSON(nil, a)) == string(param.AppendJSON(nil, b))
	})
}

// TestResults checks that results of runs arrive unchanged and in order.
func TestResults(t *testing.T) {
	t.Parallel()
	by := engine.By{Guard: "g"}
	want := []engine.Event{
		engine.Succeeded{By: by, Run: run, Result: engine.Outcome{Stores: param.New("b", int64(1), "a", "x"), Exports: param.New("e", nil), Subtasks: param.New("+s", param.New("echo>", "x")), ResetStore: [][]string{{"b", "c"}}}},
		engine.Errored{By: by, Run: run, Error: param.New("message", "no")},
		engine.Later{By: by, Run: run, After: 1500 * time.Millisecond, State: param.New("n", int64(2))},
		engine.Succeeded{By: by, Run: run},
	}
	var list []events.Result
	for _, e := range want {
		list = append(list, events.ResultOf(e))
	}
	e, err := events.Decode(events.Encode(events.Event{Kind: events.Results, Results: list}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, e.Engine("g"), sameText()); diff != "" {
		t.Error(diff)
	}
}

// full sets every field below v to a non-zero value; lists below the given number of levels are empty.
func full(t *testing.T, v reflect.Value, levels int) {
	t.Helper()
	switch x := v.Addr().Interface().(type) {
	case **param.Map:
		*x = param.New("k", "v", "n", int64(3))
		return
	case *time.Time:
		*x = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for _, f := range v.Fields() {
			full(t, f, levels-1)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		full(t, v.Elem(), levels-1)
	case reflect.Slice:
		if levels <= 0 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		full(t, v.Index(0), levels-1)
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	default:
		t.Fatalf("a field is of %s, which this test cannot fill", v.Type())
	}
}

// TestResultsAreWhole checks that the results of runs that end together lose no field on their way: a new field of such
// an event must be carried by Result.
func TestResultsAreWhole(t *testing.T) {
	t.Parallel()
	for _, empty := range []any{&engine.Succeeded{}, &engine.Errored{}, &engine.Later{}, &engine.Prepared{}} {
		v := reflect.ValueOf(empty).Elem()
		full(t, v, 6)
		want := v.Interface().(engine.Event)
		e, err := events.Decode(events.Encode(events.Event{Kind: events.Results, Results: []events.Result{events.ResultOf(want)}}))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]engine.Event{want}, e.Engine("text"), sameText()); diff != "" {
			t.Errorf("%T: %s", want, diff)
		}
	}
}

// TestRefused checks that a message that this program cannot read causes an error, so that it is redelivered to a
// program that can read it.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"v":2,"event":"kill"}`, `{"event":"kill"}`, `{"v":1,"event":"explode"}`, `{"v":1,"event":"due"}`, `{"v":1,"event":"take_over"}`, `{"v":1,"event":"results","results":[{"event":"kill","run":{"task":1,"d":1}}]}`, `{`, ``} {
		if e, err := events.Decode([]byte(text)); err == nil {
			t.Errorf("%s was read as %v", text, e)
		}
	}
	for _, text := range []string{`{"v":2}`, `{}`, `{"v":1,"then":{"event":"x"}}`, `[]`, `{"v":1,"start":{}}`, `{"v":2,"start":{"id":"e"}}`} {
		if m, err := events.DecodeTask([]byte(text)); err == nil {
			t.Errorf("%s was read as %v", text, m)
		}
	}
}

// FuzzDecode checks that no input makes a reader panic, and that decoded messages are encoded the same way.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"v":1,"event":"due","run":{"task":3,"d":2}}`))
	f.Add([]byte(`{"v":1,"event":"results","results":[{"event":"succeeded","run":{"task":3,"d":2},"outcome":{"store":{"a":1}}},{"event":"later","run":{"task":3,"d":2},"after":5,"state":{}}]}`))
	f.Add([]byte(`{"v":1,"runs":[{"task":3,"d":2}],"then":{"event":"sla_due"}}`))
	f.Add([]byte(`{"v":1,"start":{"id":"e1","time":"2026-01-02T03:04:05Z","project":"p","workflow":"w","params":{"a":1},"named":true,"times":3}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if e, err := events.Decode(body); err == nil {
			e.Engine("g")
			again, err := events.Decode(events.Encode(e))
			if diff := cmp.Diff(e, again, sameText(), cmpopts.EquateEmpty()); err != nil || diff != "" {
				t.Errorf("%v %s", err, diff)
			}
		}
		if m, err := events.DecodeTask(body); err == nil {
			again, err := events.DecodeTask(events.EncodeTask(m))
			if err != nil || len(again.Runs) != len(m.Runs) {
				t.Errorf("%v: %v, %v", err, m, again)
			}
		}
		events.DecodeList(body)
	})
}
