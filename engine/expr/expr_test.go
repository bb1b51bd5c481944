package expr_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/expr"
	"zerodag/engine/expr/assets"
	"zerodag/engine/expr/script"
	"zerodag/engine/param"
	"zerodag/engine/schedule"
)

// scopeIn returns a scope at the session time of the recordings.
func scopeIn(t testing.TB, zone string) expr.Scope {
	t.Helper()
	loc, err := schedule.Zone(zone)
	if err != nil {
		t.Fatal(err)
	}
	return expr.Scope{Zone: loc, Now: time.Date(2024, 2, 29, 12, 34, 56, 789e6, time.UTC), Seed: 1}
}

// newEvaluator returns an Evaluator that runs scripts in this process.
func newEvaluator(moment func() *script.Moment) *expr.Evaluator {
	return expr.New(script.New(script.Options{Moment: moment}).Run)
}

// tree reads JSON, whose keys keep their order.
func tree(t testing.TB, text string) *param.Map {
	t.Helper()
	v, err := param.ParseJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	return v.(*param.Map)
}

const recordedVars = `{"timezone":"UTC","n":5,"s":"abc","list":[1,2,3],"map":{"k":"v","deep":{"x":[10,20]}},
 "v1":[1,2,3,4,5],"m":{},"big":12345678901234567890,"f":1.50,"exp":1e3,"tilde":null,"t":true,"a-b":"dash",
 "mixed":{"b":1,"10":2,"9":3,"a":"\u0001\"é\u2028"},"neg":-0.0,"tiny":1e-7,"huge":1e21,"空":"kara","raw":"${n}"}`

// TestTemplate compares templates with Digdag's results (language.md 1.7; recorded cases b06, b13).
func TestTemplate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"", ""}, {"x", "x"}, {"$", "$"}, {"$$", "$"}, {"p$$s", "p$s"}, {"$$$", "$$"}, {"${", "${"}, {"${v", "${v"},
		{"p${v", "p${v"}, {"}", "}"}, {"p${1}s", "p1s"}, {"p${1}m$$m${2}s", "p1m$m2s"}, {"${}", ""}, {"a${}b", "ab"},
		{"$${n}", "$5"}, {"$$${n}", "$5"}, {"value ${1 + 2", "value ${1 + 2"}, {"${n", "${n"}, {"$$ ${ $$", "$ ${ $"},
		{"${secret:x}", "${secret:x}"}, {"${secret:${s}}", "${secret:abc}"}, {"${secret:a} ${n}", "${secret:a} 5"},
		{"${a:-b} ${x", "${a:-b} ${x"}, {"later ${ {a: 1}.a }", "later 1"},
		{"${timezone}", "UTC"}, {"${ n }", "5"}, {"${1}", "1"}, {"${0.2}", "0.2"}, {`${"a"}`, "a"}, {"${[1]}", "[1]"},
		{"${undefined}", ""}, {"${null}", ""}, {"${timezone.no_such_field}", ""}, {"${map.nosuch}", ""},
		{`${"aaa".replaceAll("a","A")}`, "AAA"}, {"${v1.map(function(item){return item*5})}", "[5,10,15,20,25]"},
		{"${n + 1} ${n * 2.5} ${n / 2} ${n % 3} ${7 / 3}", "6 12.5 2.5 2 2.3333333333333335"},
		{"${s.toUpperCase()} ${s + n} ${s.length} ${s.charAt(1)}", "ABC abc5 3 b"},
		{"${list[1]} ${list.length} ${list.join('-')} ${list.map(function(x) { return x * 2 })}", "2 3 1-2-3 [2,4,6]"},
		{"${map.k} ${map['deep'].x[1]} ${JSON.stringify(map)}", `v 20 {"k":"v","deep":{"x":[10,20]}}`},
		{"${n > 3 ? 'big' : 'small'} ${n == 5} ${!true} ${n && s} ${null} ${undefined} ${[]} ${({})}", "big true false abc   [] {}"},
		{"${list} ${map} ${1e21} ${0.1+0.2} ${1/0} ${0/0} ${-0}", `[1,2,3] {"k":"v","deep":{"x":[10,20]}} 1e+21 0.30000000000000004 null null 0`},
		{"${Math.max(1,2,3)} ${parseInt('42')} ${encodeURIComponent('a b')} ${Object.keys(map)}", `3 42 a%20b ["k","deep"]`},
		{"${(function() { var y = 0; for (var i = 0; i < 4; i++) { y += i } return y })()}", "6"},
		{"${x = 3} ${typeof x}", "3 number"}, {"a${print('x')}b", "ab"}, {"${this['a-b']}", "dash"},
		{"${JSON.stringify(this['${k}'] || 'none')}", `"none"`}, {"${raw}/x", "${n}/x"}, {"${空}", "kara"},
		{"${f} ${big} ${exp} [${tilde}] ${t}", "1.5 12345678901234567000 1000 [] true"},
		{"${mixed}", "{\"9\":3,\"10\":2,\"b\":1,\"a\":\"\\u0001\\\"é\u2028\"}"},
		{"${neg} ${tiny} ${huge} ${big}", "0 1e-7 1e+21 12345678901234567000"},
		{"${toString}", "undefined"}, {"${name = 'x'}", "x"}, {"${1)+(2}", "3"}, {"${typeof nosuch}", "undefined"},
		{"${eval('n+1')} ${new Function('a', 'return a')(4)}", "6 4"},
		{"${'abc'.contains('b')} ${''.isEmpty()} ${'Ab'.equalsIgnoreCase('aB')} ${'ab'.startsWith('a')}", "true true true true"},
		{"${'a1b2'.replaceAll('([a-z])([0-9])', '$2$1')} ${'aXa'.replaceFirst('a', '')} ${'a.a'.replaceAll('.', 'x')}", "1a2b Xa xxx"},
		{"${'a.a'.replaceAll(/\\./g, '$&$&')} ${'abc'.matches('[a-c]+')} ${'b'.compareTo('a')} ${'a b'.hashCode()}", "a..a true 1 94307"},
		{"${'aab'.replace('a', 'x')} ${'AA'.replaceAll('(?i)a', 'b')} ${' x '.strip()}", "xab bb x"},
		{"${'12345678'.replace(/\\B(?=(\\d{3})+(?!\\d))/g, ',')}", "12,345,678"},
		{"${JSON.stringify({a:[1,{}],b:undefined,c:function(){},d:[]},null,2)}", "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"d\": []\n}"},
		{"${JSON.stringify({a:1,b:{a:2,c:3}},['a','b'])} ${JSON.stringify([undefined,new Date(0)])}", `{"a":1,"b":{"a":2}} [null,"1970-01-01T00:00:00.000Z"]`},
		{"${[3,1,2].sort()} ${[1,[2,[3]]].flat(9)} ${[[1,2],[3]].join(';')} ${'' + [1,[2]]} ${[...'ab']}", `[1,2,3] [1,2,3] 1,2;3 1,2 ["a","b"]`},
	} {
		t.Run(c.in, func(t *testing.T) {
			t.Parallel()
			got, err := newEvaluator(nil).Template(c.in, tree(t, recordedVars), scopeIn(t, "UTC"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestErrors checks the messages that users see.
func TestErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"value ${nosuch}", "(ReferenceError: nosuch is not defined)"},
		{"${timezone.x.y}", "(TypeError: Cannot read property 'y' of undefined)"},
		{"${m.nosuch.deeper}", "(TypeError: Cannot read property 'deeper' of undefined)"},
		{"${m.nosuch.deeper()}", "(TypeError: Cannot read property 'deeper' of undefined)"},
		{"${s.nosuch()}", "(TypeError: s.nosuch is not a function)"},
		{"${m.a()}", "(TypeError: m.a is not a function)"},
		{"x ${[{eta0: 7}][0].eta0.tostring()} y", "(TypeError: [{eta0: 7}][0].eta0.tostring is not a function)"},
		{"${[1].map(7)}", "(TypeError: 7 is not a function)"},
		{"${(function(){ throw new Error('custom') })()}", "(Error: custom)"},
		{"${(function(){ throw 'text' })()}", "(text)"},
		{"value ${1 +}", `(SyntaxError: Unexpected token ) at line 1, character 4 of "1 +")`},
		{"later ${ {a: 1}.a } and ${'}'.length}", "(SyntaxError: Invalid or unexpected token at line 1, character 1 of \"'\")"},
		{"${while(true){}}", "(SyntaxError: Unexpected token while"},
		{"${moment()}", "(this build lacks moment: run `make assets` and build again)"},
		{"${2n ** 2n}", "(SyntaxError: BigInt is not available in expressions)"},
	} {
		t.Run(c.in, func(t *testing.T) {
			t.Parallel()
			_, err := newEvaluator(nil).Template(c.in, tree(t, recordedVars), scopeIn(t, "UTC"))
			var config *param.ConfigError
			if !errors.As(err, &config) {
				t.Fatalf("%v is no ConfigError", err)
			}
			if want := "Failed to evaluate a variable " + c.in + " " + c.want; !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got  %s\nwant %s", err, want)
			}
		})
	}
}

// TestEval checks order and scope of evaluation (language.md 1.7; recorded cases b17, b23, b41).
func TestEval(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, all, vars, want string }{
		{"chain", `{"a":"${timezone}","b":"${a}","c":"${a}${b}"}`, `{"timezone":"UTC"}`, `{"a":"UTC","b":"UTC","c":"UTCUTC"}`},
		{"nested reference", `{"nested":{"value":"v"},"ref":"${nested.value}"}`, `{}`, `{"nested":{"value":"v"},"ref":"v"}`},
		{"raw text of nested", `{"base":"/data","path":"${base}/x","deep":{"p":"${path}/y"}}`,
			`{"base":"/data","path":"${base}/x","deep":{"p":"${path}/y"}}`,
			`{"base":"/data","path":"/data/x","deep":{"p":"${base}/x/y"}}`},
		{"later key is raw", `{"p2":"${q2}/x","q2":"${n}"}`, `{"p2":"${q2}/x","q2":"${n}","n":1}`, `{"p2":"${n}/x","q2":"1"}`},
		{"own later key", `{"aaa":"first","_command":"${aaa} ${typeof zzz}","zzz":"second"}`, `{}`,
			`{"aaa":"first","_command":"first undefined","zzz":"second"}`},
		{"inner siblings only", `{"x":"1","in":{"y":"2","z":"${typeof x}${y}"}}`, `{}`, `{"x":"1","in":{"y":"2","z":"undefined2"}}`},
		{"lists see siblings", `{"x":"1","l":["${x}",["${x}"],{"k":"${typeof x}"},3]}`, `{}`,
			`{"x":"1","l":["1",["1"],{"k":"undefined"},3]}`},
		{"siblings replace whole values", `{"m":{"b":2},"r":"${m}"}`, `{"m":{"a":1}}`, `{"m":{"b":2},"r":"{\"b\":2}"}`},
		{"do is raw at any depth", `{"_do":{"a":"${x}"},"k":{"_else_do":"${x}","b":"${n}"}}`, `{"n":1}`,
			`{"_do":{"a":"${x}"},"k":{"_else_do":"${x}","b":"1"}}`},
		{"keys are raw", `{"${n}":"${n}"}`, `{"n":1}`, `{"${n}":"1"}`},
		{"scalars stay", `{"a":1,"b":true,"c":null,"d":1.5,"e":"${a}${b}${c}${d}"}`, `{}`, `{"a":1,"b":true,"c":null,"d":1.5,"e":"1true1.5"}`},
		{"globals are shadowed", `{"e":"${Math} ${name} ${length} ${typeof JSON}"}`, `{"Math":"mine","name":"n1","length":7}`, `{"e":"mine n1 7 object"}`},
		{"fresh globals for each string", `{"a":"${x = 3}","b":"${typeof x}"}`, `{}`, `{"a":"3","b":"undefined"}`},
		{"parameters are not changed", `{"a":"${list.push(9)}","b":"${list}"}`, `{"list":[1]}`, `{"a":"2","b":"[1]"}`},
		{"odd names", `{"e":"${this['a b']} ${this['__proto__']}"}`, `{"a b":"x","__proto__":"p"}`, `{"e":"x p"}`},
		{"print is always the function", `{"e":"${print}"}`, `{"print":"x"}`, `{"e":"undefined"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := newEvaluator(nil).Eval(tree(t, c.all), tree(t, c.vars), scopeIn(t, "UTC"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, param.Text(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEvalSharesWhatStays(t *testing.T) {
	t.Parallel()
	e := newEvaluator(nil)
	still := tree(t, `{"a":"x","_do":{"b":"${nosuch}"},"l":[1,"y"]}`)
	if got, err := e.Eval(still, nil, expr.Scope{}); err != nil || got != still {
		t.Errorf("got %v, %v instead of the tree itself", got, err)
	}
	mixed := tree(t, `{"a":{"b":"x"},"c":"${1}"}`)
	got, err := e.Eval(mixed, nil, expr.Scope{})
	if err != nil || got.Map("a") != mixed.Map("a") || param.Text(mixed) != `{"a":{"b":"x"},"c":"${1}"}` {
		t.Errorf("got %s, %v from %s", param.Text(got), err, param.Text(mixed))
	}
}

func TestTooLong(t *testing.T) {
	t.Parallel()
	vars := param.New("x", strings.Repeat("x", 1<<19))
	e := newEvaluator(nil)
	for _, text := range []string{"${x}${x}${x}", "${x + x + x}"} {
		if _, err := e.Template(text, vars, expr.Scope{}); err == nil || !strings.Contains(err.Error(), "longer than 1048576 bytes") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if got, err := e.Template("${x}${x}", vars, expr.Scope{}); err != nil || len(got) != 1<<20 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// withMoment returns an Evaluator with moment, and skips the test if the build does not include it.
func withMoment(t testing.TB) *expr.Evaluator {
	t.Helper()
	if assets.Moment() == "" {
		t.Skip("moment is not in this build: run `make assets`")
	}
	return newEvaluator(bundled)
}

// bundled is the moment of this build, compiled once for all tests.
var bundled = sync.OnceValue(func() *script.Moment { return script.CompileMoment(assets.Moment()) })
