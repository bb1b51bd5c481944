package evaluators_test

import (
	"context"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"zerodag/engine/expr"
	"zerodag/engine/expr/assets"
	"zerodag/engine/expr/script"
	"zerodag/engine/param"
	"zerodag/engine/schedule"
	"zerodag/internal/evaluators"
	"zerodag/internal/evaluators/evaluator"
	"zerodag/operators"
)

// inTime repeats an evaluation that took too long, because on a busy machine other processes may be the cause.
func inTime(eval func() (*param.Map, error)) (got *param.Map, err error) {
	for range 20 {
		if got, err = eval(); err == nil || !strings.Contains(err.Error(), "the evaluation took") {
			break
		}
	}
	return got, err
}

// TestSame proves that an expression means the same thing in a separate process as in this one: values of all kinds are
// transferred, as are the zone, the clock and the seed, and strings are evaluated in the same order.
func TestSame(t *testing.T) {
	t.Parallel()
	huge, _ := new(big.Int).SetString("123456789012345678901234567890", 10)
	vars := param.New("i", int64(9007199254740993), "big", huge, "f", 1.5, "e", 1e21, "t", "täxt\u2028\x00\xff", "b", true, "n", nil,
		"m", param.New("x", param.New("y", int64(1))), "l", []param.Value{int64(1), "a", nil}, "session_time", "2024-02-29T12:34:56+00:00", "print", int64(1))
	here := evaluator.InProcess(func() *script.Moment { return script.CompileMoment(assets.Moment()) })
	there := newPool(t)
	for _, text := range []string{"${i+1}", "${big}", "${big+1}", "${f*2} ${e}", "${t.length} ${t}", "${!b}${n}", "${m.x}", "${m['x'].y}", "${l.map(String)}", "${JSON.stringify(this)}",
		"${Object.keys(this)}", "${missing}", "${(}", "a${1}b$${x}c${secret:k}", "${Math.random()}", "${new Date()}", "${new Date(2024, 2, 31, 2, 30)}", "${moment(session_time).format()}",
		"${moment().add(1, 'day').format('LLLL')}", "${throw1()}", "${(function() { throw {a: 1} })()}", "${'x'.repeat(2e6)}", "${x = 1}${x}", "${print}", "${own.a}", "${own['a']}"} {
		for _, zone := range []string{"UTC", "Europe/Berlin", "+09:30", "America/St_Johns"} {
			l, err := schedule.Zone(zone)
			if err != nil {
				t.Fatal(err)
			}
			s := expr.Scope{Zone: l, Now: time.Date(2024, 2, 29, 12, 34, 56, 789e6, time.UTC), Seed: 1 << 63}
			all := param.New("own", param.New("a", int64(3)), "text", text, "list", []param.Value{text, param.New("k", text)})
			want, wantErr := inTime(func() (*param.Map, error) { return here.Eval(t.Context(), all, vars, s) })
			got, gotErr := inTime(func() (*param.Map, error) { return there.Eval(t.Context(), all, vars, s) })
			var config *param.ConfigError
			if param.Text(got) != param.Text(want) || (gotErr == nil) != (wantErr == nil) || gotErr != nil && (gotErr.Error() != wantErr.Error() || !errors.As(gotErr, &config)) {
				t.Errorf("%s in %s:\n got %s %v\nwant %s %v", text, zone, param.Text(got), gotErr, param.Text(want), wantErr)
			}
		}
	}
}

// TestCancel proves that the end of a context ends even an endless evaluation, and that Close ends evaluations under
// way.
func TestCancel(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	endless := "${Array.prototype.indexOf.call({n:0,get length(){return this.n++?9007199254740991:1}},1)}"
	if got, err := p.Template(t.Context(), "${1+1}", nil, expr.Scope{}); got != "2" {
		t.Fatal(got, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := p.Template(ctx, endless, nil, expr.Scope{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after the end of the context: %v", err)
	}
	t.Logf("ended after %v", time.Since(began))
	failed := make(chan error)
	go func() {
		_, err := p.Template(t.Context(), endless, nil, expr.Scope{})
		failed <- err
	}()
	p.Close()
	if err := <-failed; err == nil {
		t.Error("it succeeded")
	}
	if _, err := p.Template(t.Context(), "${1+1}", nil, expr.Scope{}); err == nil {
		t.Error("a closed pool evaluates")
	}
}

// TestNoEvaluator proves that an error is returned if no evaluator can be started, that nothing is then evaluated in
// this process, and that references need no evaluator.
func TestNoEvaluator(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	deaf := filepath.Join(folder, "deaf")
	if err := os.WriteFile(deaf, []byte("#!/bin/sh\necho no evaluator\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(folder, "missing"), folder, deaf} {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			p := evaluators.New(path)
			t.Cleanup(p.Close)
			if got, err := p.Template(t.Context(), "${a}", param.New("a", "x"), expr.Scope{}); got != "x" {
				t.Errorf("a reference: %s, %v", got, err)
			}
			if got, err := p.Template(t.Context(), "${1+1}", nil, expr.Scope{}); !errors.Is(err, operators.ErrNoEvaluator) || errors.Is(err, operators.ErrUnavailable) {
				t.Errorf("got %q, %v", got, err)
			}
			if n := p.Unstarted(); n != 1 {
				t.Errorf("%d starts were given up, want 1", n)
			}
		})
	}
}

// TestDeaths proves that evaluations that only a kill can end are ended with a reason, and that the pool stays usable.
func TestDeaths(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	for text, want := range map[string]string{
		"${Array.prototype.indexOf.call({n:0,get length(){return this.n++?9007199254740991:1}},1)}": "longer than 500ms",
		"${JSON.parse({n:0,toString:function(){return this.n++<1?'1':'['.repeat(4000000)}})}":       "of stack|longer than 500ms", // on a busy machine
		"${Reflect.apply(function(){return 1},null,{n:0,get length(){return this.n++?4e9:1}})}":     "of memory|longer than 500ms",
		"${(function() { while (true) {} })()}":                                                     "longer than 500ms",
		"${(function() { throw {toString: function() { return 'x'.repeat(4000000) }} })()}":         "xxx",
		"${/(a+)+\\1$/.test('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab!')}":                        "longer than 500ms",
		"${(function(){}).constructor('return 7n**99999999n')()}":                                   "BigInt",
	} {
		_, err := p.Template(t.Context(), text, nil, expr.Scope{})
		if err == nil || !slices.ContainsFunc(strings.Split(want, "|"), func(w string) bool { return strings.Contains(err.Error(), w) }) || len(err.Error()) > 32<<10 {
			t.Errorf("%s: %.300v; want %s", text, err, want)
		}
		if got, err := p.Template(t.Context(), "${1+1}", nil, expr.Scope{}); got != "2" {
			t.Fatalf("after %s: %s, %v", text, got, err)
		}
	}
}
