package dig

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/dig/keys"

	"zerodag/engine/param"
)

// tree renders nodes as lines "name [g] <- upstreams config export".
func tree(nodes []Node) string {
	var b strings.Builder
	for _, n := range nodes {
		kind := "task"
		if n.Group {
			kind = "group"
		}
		fmt.Fprintf(&b, "%s %s %s", kind, n.Name, param.Text(n.Config))
		if n.Export != nil {
			fmt.Fprintf(&b, " export %s", param.Text(n.Export))
		}
		for i, up := range n.Upstreams {
			if i == 0 {
				b.WriteString(" after")
			}
			b.WriteString(" " + strings.TrimPrefix(nodes[up].Name, nodes[n.Parent].Name))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestCompile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, config, want string }{
		{"empty group", `{}`, "group +w {}\n"},
		{"operator", `{"echo>":"x","y":1}`, "task +w {\"echo>\":\"x\",\"y\":1}\n"},
		{"long form", `{"_type":"echo","_command":"x"}`, "task +w {\"_type\":\"echo\",\"_command\":\"x\"}\n"},
		{"type and key", `{"_type":"echo","sh>":"x"}`, "task +w {\"_type\":\"echo\",\"sh>\":\"x\"}\n"},
		{"null command", `{"echo>":null}`, "task +w {\"echo>\":null}\n"},
		{"export taken out", `{"_export":{"a":1},"echo>":"x"}`, "task +w {\"echo>\":\"x\"} export {\"a\":1}\n"},
		{"null export", `{"_export":null,"echo>":"x"}`, "task +w {\"echo>\":\"x\"}\n"},
		{"sequence", `{"+a":{},"+b":{"echo>":"x"},"+c":{}}`,
			"group +w {}\ngroup +w+a {}\ntask +w+b {\"echo>\":\"x\"} after +a\ngroup +w+c {} after +b\n"},
		{"nested", `{"+a":{"+b":{"+c":{}}},"+d":{}}`,
			"group +w {}\ngroup +w+a {}\ngroup +w+a+b {}\ngroup +w+a+b+c {}\ngroup +w+d {} after +a\n"},
		{"group keys stay", `{"_retry":1,"_parallel":"true","_error":{},"_check":5,"+a":{}}`,
			"group +w {\"_retry\":1,\"_parallel\":\"true\",\"_error\":{},\"_check\":5}\ngroup +w+a {}\n"},
		{"disabled group", `{"+a":{"_disable":true,"+b":{},"_after":["+x"],"junk":1}}`, "group +w {}\ngroup +w+a {\"_disable\":true}\n"},
		{"disabled text", `{"+a":{"_disable":"true","sh>":"x","fail>":"y"}}`, "group +w {}\ngroup +w+a {\"_disable\":true}\n"},
		{"not disabled", `{"_disable":false,"echo>":"x"}`, "task +w {\"_disable\":false,\"echo>\":\"x\"}\n"},
		{"list of mappings", `{"+a":[{"echo>":"1","x":1},{"echo>":"2"}]}`, "group +w {}\ntask +w+a {\"echo>\":\"2\",\"x\":1}\n"},
		{"list of tasks", `{"+a":[{"+x":{}},{"+y":{}},{"+x":{"echo>":"again"}}]}`,
			"group +w {}\ngroup +w+a {}\ntask +w+a+x {\"echo>\":\"again\"}\ngroup +w+a+y {} after +x\n"},
		{"empty list", `{"+a":[]}`, "group +w {}\ngroup +w+a {}\n"},
		{"background", `{"+a":{},"+b":{"_background":true},"+c":{"_background":"true","echo>":"x"},"+d":{"_background":false},"+e":{}}`,
			"group +w {}\ngroup +w+a {}\ngroup +w+b {}\ntask +w+c {\"echo>\":\"x\"}\ngroup +w+d {} after +a +b +c\ngroup +w+e {} after +d\n"},
		{"background first", `{"+a":{"_background":true},"+b":{}}`, "group +w {}\ngroup +w+a {}\ngroup +w+b {} after +a\n"},
		{"parallel", `{"_parallel":true,"+a":{},"+b":{"_background":false}}`,
			"group +w {\"_parallel\":true}\ngroup +w+a {}\ngroup +w+b {\"_background\":false}\n"},
		{"parallel false", `{"_parallel":"false","+a":{},"+b":{}}`, "group +w {\"_parallel\":\"false\"}\ngroup +w+a {}\ngroup +w+b {} after +a\n"},
		{"after", `{"_parallel":true,"+a":{},"+b":{},"+c":{"_after":["+a","+b","+a"]},"+d":{"_after":null}}`,
			"group +w {\"_parallel\":true}\ngroup +w+a {}\ngroup +w+b {}\ngroup +w+c {} after +a +b +a\ngroup +w+d {}\n"},
		{"chunks", `{"_parallel":{"limit":"2"},"+a":{},"+b":{},"+c":{},"+d":{},"+e":{}}`,
			"group +w {\"_parallel\":{\"limit\":\"2\"}}\ngroup +w+a {}\ngroup +w+b {}\ngroup +w+c {} after +a +b\ngroup +w+d {} after +a +b\ngroup +w+e {} after +c +d\n"},
		{"chunks and after", `{"_parallel":{"limit":2},"+a":{},"+b":{"_after":["+a"]},"+c":{"_after":["+a"]},"+d":{}}`,
			"group +w {\"_parallel\":{\"limit\":2}}\ngroup +w+a {}\ngroup +w+b {} after +a\ngroup +w+c {} after +a +b +a\ngroup +w+d {} after +a +b\n"},
		{"no limit", `{"_parallel":{"limit":0},"+a":{},"+b":{}}`, "group +w {\"_parallel\":{\"limit\":0}}\ngroup +w+a {}\ngroup +w+b {}\n"},
		{"negative limit", `{"_parallel":{"limit":-1},"+a":{},"+b":{}}`, "group +w {\"_parallel\":{\"limit\":-1}}\ngroup +w+a {}\ngroup +w+b {}\n"},
		{"_do is not looked into", `{"loop>":1,"_do":{"echo>":"a","sh>":"b"}}`, "task +w {\"loop>\":1,\"_do\":{\"echo>\":\"a\",\"sh>\":\"b\"}}\n"},
		{"_check is not looked into", `{"echo>":"x","_check":{"echo>":"a","sh>":"b"}}`, "task +w {\"echo>\":\"x\",\"_check\":{\"echo>\":\"a\",\"sh>\":\"b\"}}\n"},
		{"_retry is read when it is needed", `{"_retry":true,"sh>":"x"}`, "task +w {\"_retry\":true,\"sh>\":\"x\"}\n"},
		{"sound error task", `{"sh>":"x","_error":{"+a":{"echo>":"x"}}}`, "task +w {\"sh>\":\"x\",\"_error\":{\"+a\":{\"echo>\":\"x\"}}}\n"},
		{"bare plus", `{"+":{}}`, "group +w {}\ngroup +w+ {}\n"},
		{"odd names", `{"+a-b_c.d=e&f":{},"+x%20[y]{z}@,^1":{}}`, "group +w {}\ngroup +w+a-b_c.d=e&f {}\ngroup +w+x%20[y]{z}@,^1 {} after +a-b_c.d=e&f\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			nodes, err := Compile("", "+w", keys.Language{}, mustMap(t, c.config))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, tree(nodes)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCompileBelowAParent(t *testing.T) {
	t.Parallel()
	nodes, err := Compile("+w+loop^sub", "+loop-0", keys.Language{}, mustMap(t, `{"+a":{"echo>":"x"}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := "group +w+loop^sub+loop-0 {}\ntask +w+loop^sub+loop-0+a {\"echo>\":\"x\"}\n"
	if diff := cmp.Diff(want, tree(nodes)); diff != "" || nodes[0].Parent != noParent || nodes[1].Parent != 0 {
		t.Errorf("parents %d %d\n%s", nodes[0].Parent, nodes[1].Parent, diff)
	}
}

func TestCompileErrors(t *testing.T) {
	t.Parallel()
	long := "+" + strings.Repeat("n", 255)
	for _, c := range []struct{ name, config, task, want string }{
		{"subtasks", `{"+a":{"echo>":"hi","+b":{}}}`, "+w+a", `A task can't have subtasks: {"echo>":"hi"}`},
		{"operators", `{"+a":{"echo>":"hi","sh>":"x"}}`, "+w+a", `A task can't have more than one operator: {"echo>":"hi","sh>":"x"}`},
		{"group key", `{"+a":{"_do":{}}}`, "+w+a", `+w+a contains invalid keys: '_do'`},
		{"misspelt group key", `{"+a":{"_paralel":true,"x":1}}`, "+w+a", `+w+a contains invalid keys: '_paralel' (did you mean [_parallel]?), 'x'`},
		{"text", `{"+a":"x"}`, "+w+a", `Parameter '+a' must be an object or array of objects`},
		{"null", `{"+a":null}`, "+w+a", `Parameter '+a' must be an object or array of objects`},
		{"list of texts", `{"+a":["x"]}`, "+w+a", `Parameter '+a' must be an object or array of objects`},
		{"text below a disabled task", `{"_disable":true,"+a":"x"}`, "+w+a", `Parameter '+a' must be an object or array of objects`},
		{"name", `{"+a b":{}}`, "+w+a b", `task name must not contain character ' ': "+a b"`},
		{"letters", `{"+日本":{}}`, "+w+日本", `task name must not contain character '日': "+日本"`},
		{"two names", `{"+a+b":{}}`, "+w+a+b", `task name must not contain character '+'`},
		{"long name", `{"` + long + `":{}}`, "+w" + long, `task name must not be longer than 255 characters`},
		{"disable template", `{"+a":{"_disable":"${true}","echo>":"x"}}`, "+w+a", `Expected 'true' or 'false' for key '_disable' but got "${true}" (string)`},
		{"parallel template", `{"+g":{"_parallel":"${x}","+a":{}}}`, "+w+g", `Expected 'true' or 'false' for key '_parallel' but got "${x}" (string)`},
		{"parallel number", `{"_parallel":3}`, "+w", `Invalid _parallel format: 3`},
		{"parallel null", `{"_parallel":null}`, "+w", `Invalid _parallel format: null`},
		{"parallel without limit", `{"_parallel":{}}`, "+w", `Parameter 'limit' is required but not set`},
		{"parallel limit null", `{"_parallel":{"limit":null}}`, "+w", `Parameter 'limit' is required but null`},
		{"parallel limit text", `{"_parallel":{"limit":"x"}}`, "+w", `Expected integer (int) type for key 'limit' but got "x" (string)`},
		{"background in parallel", `{"_parallel":true,"+a":{"_background":true}}`, "+w+a", `Setting "_background: true" option is invalid (unnecessary)`},
		{"background template", `{"+a":{"_background":"${x}"}}`, "+w+a", `Expected 'true' or 'false' for key '_background'`},
		{"after in a sequence", `{"+a":{},"+b":{"_after":["+a"]}}`, "+w+b", `Setting "_after" option is invalid if its parent task doesn't have "_parallel: true" option`},
		{"after nobody", `{"_parallel":true,"+b":{"_after":["+z"]}}`, "+w+b", `Dependency task '+z' does not exist`},
		{"after a later one", `{"_parallel":true,"+a":{"_after":["+b"]},"+b":{}}`, "+w+a", `Dependency task '+b' does not exist`},
		{"after itself", `{"_parallel":true,"+a":{"_after":["+a"]}}`, "+w+a", `Dependency task '+a' does not exist`},
		{"after text", `{"_parallel":true,"+a":{},"+b":{"_after":"+a"}}`, "+w+b", `Expected array type for key '_after' but got "+a" (string)`},
		{"after list", `{"_parallel":true,"+a":{},"+b":{"_after":[["+a"]]}}`, "+w+b", `Expected string type for key '_after'`},
		{"error task", `{"+a":{"fail>":"x","_error":{"echo>":"a","sh>":"b"}}}`, "+w+a^error", `A task can't have more than one operator: {"echo>":"a","sh>":"b"}`},
		{"error task of a group", `{"_error":{"+x":{"junk":1}}}`, "+w^error+x", `+w^error+x contains invalid keys: 'junk'`},
		{"error text", `{"+a":{"fail>":"x","_error":"handle it"}}`, "+w+a", `Parameter '_error' must be an object`},
		{"export text", `{"+a":{"_export":"x"}}`, "+w+a", `Parameter '_export' must be an object`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := Compile("", "+w", keys.Language{}, mustMap(t, c.config))
			var list Errors
			var config *param.ConfigError
			if !errors.As(err, &list) || !errors.As(err, &config) {
				t.Fatalf("got %v, want Errors that are ConfigErrors", err)
			}
			if list[0].Task != c.task || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %s: %s\nwant %s: %s", list[0].Task, err, c.task, c.want)
			}
		})
	}
}

func TestCompileFindsAllErrors(t *testing.T) {
	t.Parallel()
	_, err := Compile("", "+w", keys.Language{}, mustMap(t, `{"junk":1,"+a b":{},"+c":{"echo>":1,"sh>":2},"+d":{"_error":"x","+e":5}}`))
	var list Errors
	if !errors.As(err, &list) || len(list) != 5 {
		t.Fatalf("want 5 errors, got %d: %v", len(list), err)
	}
}

// TestCompileSharesConfig checks that compiling a loop's body, which happens for every iteration, copies no more than
// necessary.
func TestCompileSharesConfig(t *testing.T) {
	t.Parallel()
	config := mustMap(t, `{"+a":{"echo>":"x","deep":{"b":1}},"+b":{"_export":{"c":1},"sh>":"y","deep":{"d":1}}}`)
	before := param.Text(config)
	nodes, err := Compile("", "+w", keys.Language{}, config)
	if err != nil {
		t.Fatal(err)
	}
	if nodes[1].Config != config.Map("+a") || nodes[2].Config.Map("deep") != config.Map("+b").Map("deep") {
		t.Error("configs were copied")
	}
	if diff := cmp.Diff(before, param.Text(config)); diff != "" {
		t.Errorf("the source was changed: %s", diff)
	}
}

func TestWorkflowNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"main": "", "sub/wf": "", "we ird": "", "a1": "", "日本": "",
		"":    "must not be blank",
		"1st": "must not start with a numeric digit (0-9)",
		"+x":  "must not include special symbols", "^x": "must not include special symbols", "|": "must not include special symbols",
		"a.dig":                           "must not end with .dig",
		strings.Repeat("a", 256):          "must not be longer than 255 characters",
		strings.Repeat("日", 255):          "",
		strings.Repeat("\U0001f600", 128): "must not be longer than 255 characters",
	} {
		if got := WorkflowNameFault(name); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}
