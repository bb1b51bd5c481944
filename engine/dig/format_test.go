package dig

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
)

func TestFormatYAML(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, json, want string }{
		{"empty", `{}`, "{}\n"},
		{"null", `null`, "null\n"},
		{"text", `"a"`, "\"a\"\n"},
		{"recorded workflow", `{"_export":{"v":1},"schedule":{"daily>":"07:00:00"},"+a":{"echo>":"hello ${v}"},"+g":{"+c":{"echo>":"c"}}}`,
			"_export:\n  v: 1\nschedule:\n  daily>: \"07:00:00\"\n+a:\n  echo>: \"hello ${v}\"\n+g:\n  +c:\n    echo>: \"c\"\n"},
		{"scalars", `{"a":1,"b":1.5,"c":true,"d":null,"e":{},"f":[],"g":"","h":12345678901234567890,"i":1e10}`,
			"a: 1\nb: 1.5\nc: true\nd: null\ne: {}\nf: []\ng: \"\"\nh: 12345678901234567890\ni: 1.0E10\n"},
		{"lists", `{"a":[1,"b",[2,3],{"c":4,"d":[5]},[]],"e":{"f":[6]}}`,
			"a:\n- 1\n- \"b\"\n- - 2\n  - 3\n- c: 4\n  d:\n  - 5\n- []\ne:\n  f:\n  - 6\n"},
		{"escapes", `{"a":"q\" b\\ n\n t\t \u0001\u00e9\u00a0\u2028\ud83d\ude00"}`, "a: \"q\\\" b\\\\ n\\n t\\t \\x01é\\_\\L\\U0001f600\"\n"},
		{"keys", `{"a b":1,"a: b":1,"- a":1,"#a":1,"it's":1,"'":1,"a:":1,"x\ny":1,"":1,"${a}":1}`,
			"a b: 1\n'a: b': 1\n'- a': 1\n'#a': 1\nit's: 1\n'''': 1\n'a:': 1\n\"x\\ny\": 1\n'': 1\n${a}: 1\n"},
		{"folding", `{"k":"` + strings.Repeat("aaaa ", 20) + `"}`,
			"k: \"" + strings.TrimSuffix(strings.Repeat("aaaa ", 16), " ") + "\\\n  \\ " + strings.Repeat("aaaa ", 4) + "\"\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v, err := param.ParseJSON(c.json)
			if err != nil {
				t.Fatal(err)
			}
			text := FormatYAML(v)
			if diff := cmp.Diff(c.want, string(text)); diff != "" {
				t.Error(diff)
			}
			back, err := ParseYAML("f", text)
			if err != nil || !param.Equal(v, back) {
				t.Errorf("reads back as %s, %v", param.Text(back), err)
			}
		})
	}
}

func TestFormatYAMLLongKey(t *testing.T) {
	t.Parallel()
	key := strings.Repeat("k", 130)
	if diff := cmp.Diff("? "+key+"\n: 1\n", string(FormatYAML(param.New(key, int64(1))))); diff != "" {
		t.Error(diff)
	}
}
