package paramstore_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/operators/operatortest"
	"zerodag/operators/paramstore"
)

func TestParamStore(t *testing.T) {
	t.Parallel()
	for _, o := range paramstore.Operators() {
		t.Run(o.Name, func(t *testing.T) {
			t.Parallel()
			operatortest.Exercise(t, operatortest.Subject{
				Operator: o,
				Good:     `{"a": "x", "b": 2}`,
				Wrong:    []string{`{}`, `{"a": [1]}`, `{"a": {"b": 1}}`},
				ReadsAll: true, // every key is stored
			})
		})
	}
}

func TestSetThenGet(t *testing.T) {
	t.Parallel()
	set, get := paramstore.Operators()[0], paramstore.Operators()[1]
	w := operatortest.New(t, `{"k1": "v1", "k2": 2, "k3": true, "": "empty"}`)
	if diff := cmp.Diff(operatortest.Ended{}, operatortest.RunOnce(t, set, w)); diff != "" {
		t.Fatal(diff)
	}
	other := operatortest.New(t, `{"k1": "got1", "k2": "got2", "k3": "got3", "k4": "got4"}`)
	other.Store = w.Store
	want := operatortest.Ended{Store: `{"got1":"v1","got2":"2","got3":"true","got4":""}`}
	if diff := cmp.Diff(want, operatortest.RunOnce(t, get, other)); diff != "" {
		t.Error(diff)
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	for _, o := range paramstore.Operators() {
		w := operatortest.New(t, `{"a": "b"}`)
		w.Local = param.New()
		want := operatortest.Ended{Error: "no key is set.", Kind: "config"}
		if diff := cmp.Diff(want, operatortest.RunOnce(t, o, w)); diff != "" {
			t.Error(diff)
		}
		w.Store = nil
		want.Error = "param_server.type is required to use this operator."
		if diff := cmp.Diff(want, operatortest.RunOnce(t, o, w)); diff != "" {
			t.Error(diff)
		}
	}
}
