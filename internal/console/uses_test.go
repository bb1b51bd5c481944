package console

import (
	"fmt"
	"testing"

	"zerodag/engine/dig"
	"zerodag/engine/param"
)

// TestUses checks which parameters the user who starts a workflow must provide.
func TestUses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`+a: {echo>: "${x} and ${ y.z } and ${x}"}`:                                       "[{x +w+a} {y +w+a}]",
		`+a: {echo>: "$$ ${secret:x} ${x"}`:                                               "[]",
		`+a: {echo>: "${x + 1} ${f(x)} ${x ? 1 : 2}"}`:                                    "[]",
		"_export: {x: 1}\n+a: {echo>: '${x}'}":                                            "[]",
		"+a: {echo>: '${x}', _export: {x: '${y}'}}":                                       "[{y +w+a}]",
		"+a: {loop>: '${n}', _do: {echo>: '${i}'}}":                                       "[{n +w+a}]",
		"+a: {for_range>: {from: '${b}', to: 9, step: 1}, _do: {echo>: '${range.from}'}}": "[{b +w+a}]",
		"+a: {_type: for_each, _command: {k: [1]}, _do: {echo>: '${k}'}}":                 "[]",
		"+a: {echo>: '${session_date} ${task_name} ${last_executed_session_time}'}":       "[]",
		"+a: {echo>: '${next_session_time}'}":                                             "[{next_session_time +w+a}]",
		"schedule: {daily>: '07:00:00'}\n+a: {echo>: '${next_session_time}'}":             "[]",
		"_error: {echo>: '${error.message} ${z}'}\n+a: {echo>: x}":                        "[{z +w}]",
		"+a: {sh>: 'x', env: {A: ['${list[0]}']}}":                                        "[{list +w+a}]",
	} {
		v, err := dig.ParseYAML("w.dig", []byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		config := v.(*param.Map)
		u := newUses(config.Map("schedule") != nil)
		u.task("+w", config)
		if got := fmt.Sprint(u.open()); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
