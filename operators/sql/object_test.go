package sql

import (
	"testing"

	"zerodag/engine/param"
)

// TestObjects compares the stored values and the values in a file with what Digdag's driver and JSON library wrote for
// the same text from a server.
func TestObjects(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		oid               uint32
		text, stored, csv string
	}{
		{1186, "-1 days -02:03:04.5", `{"type":"interval","value":"0 years 0 mons -1 days -2 hours -3 mins -4.5 secs","years":0,"months":0,"days":-1,"hours":-2,` +
			`"minutes":-3,"wholeSeconds":-4,"microSeconds":-500000,"seconds":-4.5,"null":true}`, "0 years 0 mons -1 days -2 hours -3 mins -4.5 secs"},
		{1186, "-00:00:00.5", `{"type":"interval","value":"0 years 0 mons 0 days 0 hours 0 mins -0.5 secs","years":0,"months":0,"days":0,"hours":0,` +
			`"minutes":0,"wholeSeconds":0,"microSeconds":-500000,"seconds":-0.5,"null":true}`, "0 years 0 mons 0 days 0 hours 0 mins -0.5 secs"},
		{1186, "-1 years -2 mons", `{"type":"interval","value":"-1 years -2 mons 0 days 0 hours 0 mins 0.0 secs","years":-1,"months":-2,"days":0,"hours":0,` +
			`"minutes":0,"wholeSeconds":0,"microSeconds":0,"seconds":0.0,"null":true}`, "-1 years -2 mons 0 days 0 hours 0 mins 0.0 secs"},
		{1186, "P1D", `"P1D"`, "P1D"}, // from a server with a different style: its text
		{1266, "23:00:00-05", `"04:00:00"`, "04:00:00"},
		{1266, "23:00:00-05:30", `"04:30:00"`, "04:30:00"},
		{628, "{1,2,3}", `{"type":"line","value":"{1.0,2.0,3.0}","a":1.0,"b":2.0,"c":3.0,"null":true}`, "{1.0,2.0,3.0}"},
		{601, "[(1,2),(3,4)]", `{"type":"lseg","value":"[(1.0,2.0),(3.0,4.0)]","point":[{"type":"point","value":"(1.0,2.0)","x":1.0,"y":2.0,"isNull":false,"null":true},` +
			`{"type":"point","value":"(3.0,4.0)","x":3.0,"y":4.0,"isNull":false,"null":true}],"null":true}`, "[(1.0,2.0),(3.0,4.0)]"},
		{604, "((1,2))", `{"type":"polygon","value":"((1.0,2.0))","points":[{"type":"point","value":"(1.0,2.0)","x":1.0,"y":2.0,"isNull":false,"null":true}],"null":true}`, "((1.0,2.0))"},
		{1114, "infinity", "9223372036825200000", "infinity"},
	} {
		c := Column{OID: x.oid, Category: "T"}
		if got := param.Text(c.value(x.text)); got != param.Text(quoted(t, x.stored)) {
			t.Errorf("%s is stored as %s, want %s", x.text, got, x.stored)
		}
		if got := c.csv(x.text); got != x.csv {
			t.Errorf("%s is written as %s, want %s", x.text, got, x.csv)
		}
	}
}

func quoted(t *testing.T, text string) param.Value {
	t.Helper()
	v, err := param.ParseJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// FuzzValues checks that no text from a server causes a panic, and that a string that does not fit its type remains
// text.
func FuzzValues(f *testing.F) {
	for _, text := range []string{"1 day 02:03:04.5", "-00:00:00.5", "(1,2)", "<(1,2),3>", "infinity", "12:00:00+09", "[(1e5,-2)]", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for oid := range forms {
			c := Column{OID: oid, Category: "S"}
			if _, err := param.ParseJSON(param.Text(c.value(text))); err != nil {
				t.Fatalf("%q of type %d is stored as no JSON: %v", text, oid, err)
			}
			c.csv(text)
		}
	})
}
