package engine_test

import (
	"testing"

	"zerodag/engine"
	"zerodag/engine/dig"
	"zerodag/engine/param"
)

// TestShownParams checks that the host's defaults for all attempts are shown only if an attempt overrides them.
func TestShownParams(t *testing.T) {
	t.Parallel()
	read := func(text string) *param.Map {
		m, err := param.ParseJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		return m.(*param.Map)
	}
	def, err := engine.Define(dig.Workflow{Name: "w", Zone: "UTC", Config: read(`{"_export":{"d":{"mine":1},"same":"host's","e":{}}, "echo>":"a"}`)})
	if err != nil {
		t.Fatal(err)
	}
	s := engine.New(def, read(`{"key":"of the host","c":"host's","d":{"hidden":1,"mine":0},"same":"host's","g":{"hidden":1},"l":[1]}`))
	s.Apply(engine.AttemptStarted{Params: read(`{"c":"own","f":2}`)})
	if got, want := param.Text(s.ShownParamsOf(engine.Root)), `{"c":"own","d":{"mine":1},"e":{},"f":2}`; !param.Equal(read(got), read(want)) {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := s.ParamsOf(engine.Root); got.Len() != 8 {
		t.Errorf("a task sees %s", param.Text(got))
	}
	s = engine.New(def, nil)
	s.Apply(engine.AttemptStarted{Params: read(`{"f":2}`)})
	if got := s.ShownParamsOf(engine.Root); got.Len() != 4 {
		t.Errorf("without such: %s", param.Text(got))
	}
}
