package dig

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
)

func TestLoad(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string // JSON of main.dig's stored config
	}{
		{"order of the stored keys", map[string]string{"main.dig": "+b: {}\n_parallel: true\nsla: {time: 01:00}\n_export: {z: 1}\n+a: {}\n_retry: 2\n_check: {}\n_error: {}\ntimezone: UTC\n"},
			`{"_export":{"z":1},"sla":{"time":"01:00"},"_error":{},"_check":{},"_retry":2,"_parallel":true,"+b":{},"+a":{}}`},
		{"empty export is dropped", map[string]string{"main.dig": "_export: {}\n+a: {}\n"}, `{"+a":{}}`},
		{"null timezone", map[string]string{"main.dig": "timezone:\n+a: {}\n"}, `{"+a":{}}`},
		{"include", map[string]string{
			"main.dig":     "_export:\n  !include : config/p.dig\n  own: 1\n+a:\n  !include : t.dig\n",
			"t.dig":        "+t: {echo>: x}\n",
			"config/p.dig": "x: 1\n!include : more/q.dig\ny: {z: 2}\n", "config/more/q.dig": "y: {w: 3}\nq: 4\n",
		}, `{"_export":{"x":1,"y":{"z":2},"q":4,"own":1},"+a":{"+t":{"echo>":"x"}}}`},
		{"included wins over keys above, deeply", map[string]string{
			"main.dig": "_export:\n  a: {b: 1, c: {d: 2}}\n  l: [1]\n  !include : i.dig\n+x: {}\n", "i.dig": "l: [2]\na: {c: {e: 3}, b: 9}\n",
		}, `{"_export":{"a":{"b":9,"c":{"d":2,"e":3}},"l":[2]},"+x":{}}`},
		{"keys below replace what was included", map[string]string{
			"main.dig": "_export:\n  !include : i.dig\n  a: {z: 1}\n+x: {}\n", "i.dig": "a: {b: 1}\nc: 2\n",
		}, `{"_export":{"a":{"z":1},"c":2},"+x":{}}`},
		{"several includes", map[string]string{
			"main.dig": "!include : a.dig\n!include : b.dig\n", "a.dig": "+a: {echo>: 1}\n+c: {x: 1}\n", "b.dig": "+b: {}\n+c: {echo>: 2}\n",
		}, `{"+a":{"echo>":1},"+c":{"x":1,"echo>":2},"+b":{}}`},
		{"include through anchors and lists", map[string]string{
			"main.dig": "+a:\n  - &t {!include : i.dig}\n  - {y: 2}\n+b: *t\n", "i.dig": "echo>: x\n",
		}, `{"+a":[{"echo>":"x"},{"y":2}],"+b":{"echo>":"x"}}`},
		{"ordered mappings", map[string]string{"main.dig": "_export: !!omap [a: {x: 1}]\n+a: {}\n!include : i.dig\n", "i.dig": "_export: {a: {y: 2}, <<: !!omap [b: 1]}\n"},
			`{"_export":{"a":{"x":1,"y":2},"b":1},"+a":{}}`},
		{"the same file twice", map[string]string{"main.dig": "+a: {!include : i.dig}\n+b: {!include : i.dig}\n", "i.dig": "echo>: x\n"},
			`{"+a":{"echo>":"x"},"+b":{"echo>":"x"}}`},
		{"path inside the folder", map[string]string{"main.dig": "!include : ./a/../b.dig\n", "b.dig": "+b: {}\n"}, `{"+b":{}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			list, err := Load(mapSource(c.files), []string{"main.dig"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, param.Text(list[0].Config)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLoadNamesAndZones(t *testing.T) {
	t.Parallel()
	list, err := Load(mapSource(map[string]string{
		"b.dig": "timezone: Asia/Tokyo\nschedule: {daily>: 07:00:00}\n+a: {}\n", "a.dig": "timezone: \"+09:00\"\n+a: {}\n", "c.dig": "+a: {}\n",
	}), []string{"c.dig", "b.dig", "a.dig"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range list {
		got = append(got, w.Name+" "+w.Zone)
	}
	if diff := cmp.Diff([]string{"a +09:00", "b Asia/Tokyo", "c UTC"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestLoadErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"no such file", map[string]string{}, "main.dig: File not found: main.dig"},
		{"empty", map[string]string{"main.dig": ""}, "main.dig:1:1: Expected object to load Config but got null"},
		{"list", map[string]string{"main.dig": "- a\n"}, `main.dig:1:1: Expected object to load Config but got ["a"]`},
		{"unknown key", map[string]string{"main.dig": "+a: {}\nschedul: {}\n"}, "main.dig:2:1: Workflow 'main' includes unknown keys: [schedul]\n  'schedul': did you mean [schedule]?"},
		{"slips of keys with the gate", map[string]string{"main.dig": "_defalts: {}\n_timout: 3m\n+a: {}\n"}, "main.dig:1:1: Workflow 'main' includes unknown keys: [_defalts, _timout]\n  '_defalts': did you mean [_defaults]? '_defaults' is a zerodag key: put `zerodag: 1` at the top of the file"},
		{"two letters that changed places in a group", map[string]string{"main.dig": "zerodag: 1\n+g: {_fi: true, +a: {}}\n"}, "main.dig:2:6: +main+g contains invalid keys: '_fi' (did you mean [_if]?)"},
		{"operator on top", map[string]string{"main.dig": "echo>: x\n"}, "main.dig:1:1: Workflow 'main' includes unknown keys: [echo>]\n  operators belong in tasks"},
		{"number as a task", map[string]string{"main.dig": "+1: {}\n"}, "main.dig:1:1: Workflow 'main' includes unknown keys: [1]\n  task names start with + (quote a number"},
		{"generated name", map[string]string{"main.dig": "+a^b: {}\n"}, "main.dig:1:1: task name must not contain ^ character"},
		{"export", map[string]string{"main.dig": "_export: x\n+a: {}\n"}, "main.dig:1:1: Parameter '_export' must be an object"},
		{"error", map[string]string{"main.dig": "+a: {}\n_error: x\n"}, "main.dig:2:1: Parameter '_error' must be an object (task +main)"},
		{"zone", map[string]string{"main.dig": "+a: {}\ntimezone: Mars/Phobos\n"}, "main.dig:2:1: timezone \"Mars/Phobos\" is unknown"},
		{"zone list", map[string]string{"main.dig": "timezone: [UTC]\n+a: {}\n"}, "main.dig:1:1: Expected string type for key 'timezone' but got [\"UTC\"] (array)"},
		{"schedule text", map[string]string{"main.dig": "schedule: daily\n+a: {}\n"}, "main.dig:1:1: Expected object type for key 'schedule' but got \"daily\" (string)"},
		{"schedule type", map[string]string{"main.dig": "+a: {}\nschedule: {yearly>: 1}\n"}, "main.dig:2:12: Unknown scheduler type: yearly"},
		{"file name", map[string]string{"1st.dig": "+a: {}\n"}, "1st.dig: name must not start with a numeric digit (0-9): \"1st\"\n  rename the file"},
		{"blank in a file name", map[string]string{"we ird.dig": "+a: {}\n"}, "we ird.dig: task name must not contain character ' ': \"+we ird\""},
		{"sub folder", map[string]string{"sub/wf.dig": "+a: {}\n"}, "sub/wf.dig: task name must not contain character '/'"},
		{"place of a nested task", map[string]string{"main.dig": "+a:\n  +b:\n    echo>: x\n    sh>: y\n"}, "main.dig:2:3: A task can't have more than one operator: {\"echo>\":\"x\",\"sh>\":\"y\"} (task +main+a+b)\n  give each"},
		{"place of a key", map[string]string{"main.dig": "+a:\n  +b:\n    x: 1\n"}, "main.dig:3:5: +main+a+b contains invalid keys: 'x'"},
		{"place in a list", map[string]string{"main.dig": "+a:\n  - +x: {}\n  - +x:\n      y: 1\n"}, "main.dig:4:7: +main+a+x contains invalid keys: 'y'"},
		{"place in an error task", map[string]string{"main.dig": "+a:\n  sh>: x\n  _error:\n    +b: 1\n"}, "main.dig:4:5: Parameter '+b' must be an object or array of objects (task +main+a^error+b)"},
		{"place in an include", map[string]string{"main.dig": "+a:\n  !include : sub/i.dig\n", "sub/i.dig": "\n+b: {x: 1}\n"}, "sub/i.dig:2:6: +main+a+b contains invalid keys: 'x'"},
		{"place after a merge", map[string]string{"main.dig": "+a: {+b: {echo>: 1}}\n!include : i.dig\n", "i.dig": "+a: {+b: {\n  sh>: 2}}\n"}, "i.dig:1:6: A task can't have more than one operator"},
		{"missing include", map[string]string{"main.dig": "+a:\n  !include : no.dig\n"}, "main.dig:2:3: included file does not exist: no.dig"},
		{"include above", map[string]string{"main.dig": "+a: {!include : ../x.dig}\n"}, "main.dig:1:6: File name must not include ..: ../x.dig"},
		{"include above from a folder", map[string]string{"main.dig": "!include : sub/a.dig\n", "sub/a.dig": "!include : ../b.dig\n", "b.dig": "+a: {}\n"}, "sub/a.dig:1:1: File name must not include ..: ../b.dig"},
		{"include of a neighbour folder", map[string]string{"main.dig": "!include : sub/a.dig\n", "sub/a.dig": "!include : ../sub2/b.dig\n", "sub2/b.dig": "+a: {}\n"}, "sub/a.dig:1:1: File name must not include .."},
		{"absolute include", map[string]string{"main.dig": "!include : /etc/passwd\n"}, "main.dig:1:1: File name must not include ..: /etc/passwd"},
		{"include without a name", map[string]string{"main.dig": "!include :\n+a: {}\n"}, "main.dig:1:1: !include needs a file path"},
		{"include as a value", map[string]string{"main.dig": "_export:\n  c: !include x.dig\n"}, "main.dig:2:6: !include cannot be a value\n  write it as a key"},
		{"include in a list", map[string]string{"main.dig": "_export:\n  c: [!include x.dig]\n"}, "main.dig:2:7: !include cannot be a value"},
		{"include of itself", map[string]string{"main.dig": "!include : main.dig\n"}, "main.dig:1:1: files include each other in a cycle: main.dig -> main.dig"},
		{"circle", map[string]string{"main.dig": "!include : a.dig\n", "a.dig": "!include : b.dig\n", "b.dig": "!include : ./a.dig\n"}, "b.dig:1:1: files include each other in a cycle: main.dig -> a.dig -> b.dig -> a.dig"},
		{"include of a list", map[string]string{"main.dig": "!include : a.dig\n", "a.dig": "- x\n"}, "main.dig:1:1: Expected object to load Config but got array: a.dig"},
		{"include of nothing", map[string]string{"main.dig": "!include : a.dig\n", "a.dig": ""}, "main.dig:1:1: Expected object to load Config but got null: a.dig"},
		{"broken include", map[string]string{"main.dig": "!include : a.dig\n", "a.dig": "x: [\n"}, "a.dig:1:1: this is not YAML"},
		{"blank forgotten", map[string]string{"main.dig": "+a:\n  echo>:x\n"}, "the space after the colon is missing: `echo>:x`"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			name := "main.dig"
			if len(c.files) == 1 {
				name = slices.Collect(maps.Keys(c.files))[0]
			}
			list, err := Load(mapSource(c.files), []string{name})
			if err == nil || list != nil {
				t.Fatalf("accepted: %v", list)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %s\nwant %s", err, c.want)
			}
		})
	}
}

func TestLoadReportsEverything(t *testing.T) {
	t.Parallel()
	_, err := Load(mapSource(map[string]string{
		"b.dig": "junk: 1\n+a b: {}\n+c:\n  echo>: x\n  echo>: y\n  sh>: z\n",
		"a.dig": "timezone: Nowhere\nschedule: {x>: 1}\n+a: 5\n",
	}), []string{"b.dig", "a.dig", "c.dig"})
	var list Errors
	if !errors.As(err, &list) {
		t.Fatal(err)
	}
	var got []string
	for _, e := range list {
		got = append(got, fmt.Sprintf("%s:%d %.20s", e.File, e.Line, e.Message))
	}
	want := []string{
		"a.dig:1 timezone \"Nowhere\" i", "a.dig:2 Unknown scheduler ty", "a.dig:3 Parameter '+a' must ",
		"b.dig:1 Workflow 'b' include", "b.dig:2 task name must not c", "b.dig:3 A task can't have mo", "b.dig:5 Duplicated keys: [ec",
		"c.dig:0 File not found: c.di",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLoadBoundsItsReport(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&text, "+t%d: 1\n", i)
	}
	_, err := Load(mapSource(map[string]string{"main.dig": text.String()}), []string{"main.dig"})
	var list Errors
	if !errors.As(err, &list) || len(list) != maxReported+1 {
		t.Fatalf("%d errors", len(list))
	}
	if want := "main.dig: 4900 more errors are not shown"; list[0].Error() != want {
		t.Errorf("got %s, want %s", list[0], want)
	}
}

// TestIncludeBomb checks that loading stops early when files include one another ten times each.
func TestIncludeBomb(t *testing.T) {
	t.Parallel()
	files := map[string]string{"9.dig": "x: " + strings.Repeat("y", 100)}
	for i := range 9 {
		files[fmt.Sprintf("%d.dig", i)] = "a:\n" + strings.Repeat(fmt.Sprintf("  - {!include : %d.dig}\n", i+1), 10)
	}
	_, err := Load(mapSource(files), []string{"0.dig"})
	if err == nil || !strings.Contains(err.Error(), "aliases and included files add more than") {
		t.Fatalf("got %.300v", err)
	}
}

func TestLoadFile(t *testing.T) {
	t.Parallel()
	read := mapSource(map[string]string{"a.yml": "x: 1\n!include : b.yml\n", "b.yml": "y: {z: 2}\n"})
	got, err := LoadFile(read, "a.yml")
	if err != nil || param.Text(got) != `{"x":1,"y":{"z":2}}` {
		t.Errorf("got %s, %v", param.Text(got), err)
	}
	if _, err := LoadFile(read, "c.yml"); err == nil {
		t.Error("a missing file was accepted")
	}
}

func TestCallee(t *testing.T) {
	t.Parallel()
	read := mapSource(map[string]string{
		"child.dig": "timezone: Asia/Tokyo\n_export: {z: 1}\n+x: {echo>: x}\n", "sub/child.dig": "+x: {}\n",
		"sub/deep/wd.dig": "_export: {a: 1, _workdir: w, b: 2}\n", "bad.dig": "junk: 1\n", "sub/op.dig": "+a: {echo>: 1, sh>: 2}\n",
	})
	for name, want := range map[string]string{
		"child":            `{"_export":{"z":1},"+x":{"echo>":"x"}}`,
		"./child.dig":      `{"_export":{"z":1},"+x":{"echo>":"x"}}`,
		"sub/child.dig":    `{"_export":{"_workdir":"sub"},"+x":{}}`,
		"sub/../sub/child": `{"_export":{"_workdir":"sub"},"+x":{}}`,
		"sub/deep/wd":      `{"_export":{"a":1,"_workdir":"sub/deep/w","b":2}}`,
		"sub/op":           `{"_export":{"_workdir":"sub"},"+a":{"echo>":1,"sh>":2}}`, // compiled later, by the engine
	} {
		got, err := Callee(read, name)
		if err != nil || param.Text(got) != want {
			t.Errorf("%s: got %s, %v, want %s", name, param.Text(got), err, want)
		}
	}
	for name, want := range map[string]string{
		"nosuch": "File not found: nosuch.dig", "bad": "bad.dig:1:1: Workflow 'bad' includes unknown keys: [junk]",
		"../x": "File name must not include ..: ../x.dig", "/etc/x": "File name must not include ..",
	} {
		if _, err := Callee(read, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}

func TestCalleeText(t *testing.T) {
	t.Parallel()
	got, err := CalleeText("http_call.dig", `{"+a": {"echo>": "x"}, "_export": {"n": 010}}`, 0)
	if err != nil || param.Text(got) != `{"_export":{"n":8},"+a":{"echo>":"x"}}` {
		t.Errorf("got %s, %v", param.Text(got), err)
	}
	if _, err := CalleeText("http_call.dig", "echo>: x", 0); err == nil {
		t.Error("an operator at the top was accepted")
	}
	const gated = "_timeout: 1m\n+a: {echo>: x}"
	if _, err := CalleeText("http_call.dig", gated, 0); err == nil {
		t.Error("a key of zerodag was accepted without the gate")
	}
	if got, err = CalleeText("http_call.dig", gated, 1); err != nil || param.Text(got) != `{"zerodag":1,"_timeout":"1m","+a":{"echo>":"x"}}` {
		t.Errorf("below a task with the gate: got %s, %v", param.Text(got), err)
	}
	if _, err := CalleeText("http_call.dig", "zerodag: 2\n"+gated, 1); err == nil || !strings.Contains(err.Error(), "level 2") {
		t.Errorf("a text with a level of its own: %v", err)
	}
}

func TestDefine(t *testing.T) {
	t.Parallel()
	w, err := Define("main", mustMap(t, `{"+a":{"echo>":"x"},"timezone":"Europe/Berlin","_export":{"a":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`main Europe/Berlin {"_export":{"a":1},"+a":{"echo>":"x"}}`, w.Name+" "+w.Zone+" "+param.Text(w.Config)); diff != "" {
		t.Error(diff)
	}
	_, err = Define("main", mustMap(t, `{"+a":{"echo>":"x","sh>":"y"}}`))
	if want := `A task can't have more than one operator: {"echo>":"x","sh>":"y"}`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
