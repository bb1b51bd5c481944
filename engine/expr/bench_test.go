package expr_test

import (
	"testing"
	"time"

	"zerodag/engine/expr"
	"zerodag/engine/expr/assets"
	"zerodag/engine/expr/script"
	"zerodag/engine/param"
)

func benchScope() expr.Scope {
	return expr.Scope{Zone: time.UTC, Now: time.Date(2024, 2, 29, 12, 34, 56, 0, time.UTC)}
}

func benchVars() *param.Map {
	return param.New("timezone", "UTC", "session_uuid", "11111111-2222-3333-4444-555555555555",
		"session_id", int64(1), "project_id", int64(1), "attempt_id", int64(1),
		"session_time", "2024-02-29T12:34:56+00:00", "session_date", "2024-02-29",
		"session_date_compact", "20240229", "session_local_time", "2024-02-29 12:34:56",
		"session_tz_offset", "+0000", "session_unixtime", int64(1709210096), "task_name", "+main+a",
		"n", int64(5), "list", []param.Value{int64(1), int64(2)})
}

// benchEval evaluates a tree of typical size with one additional string.
func benchEval(b *testing.B, text string) {
	e := newEvaluator(bundled)
	vars, all := benchVars(), benchVars()
	all.Set("echo>", text)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Eval(all, vars, benchScope()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEvalPlain(b *testing.B)     { benchEval(b, "no expression at all") }
func BenchmarkEvalReference(b *testing.B) { benchEval(b, "at ${session_time} in ${task_name}") }
func BenchmarkEvalOperators(b *testing.B) { benchEval(b, "${n + 1}") }
func BenchmarkEvalScript(b *testing.B) {
	benchEval(b, "${list.map(function(x) { return x * 2 })}")
}
func BenchmarkEvalMoment(b *testing.B) { benchEval(b, "${moment(session_time).format('YYYY')}") }

func BenchmarkFirstMoment(b *testing.B) {
	vars := benchVars()
	for b.Loop() {
		e := newEvaluator(func() *script.Moment { return script.CompileMoment(assets.Moment()) })
		if _, err := e.Template("${moment(session_time).format('YYYY')}", vars, benchScope()); err != nil {
			b.Fatal(err)
		}
	}
}
