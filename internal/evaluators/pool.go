package evaluators

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"zerodag/engine/expr"
	"zerodag/engine/param"
	"zerodag/internal/limits"
	"zerodag/internal/turns"
	"zerodag/operators"
	"zerodag/operators/run"
)

// idleTime is how long an unused evaluator is kept.
const idleTime = 2 * time.Minute

// Pool evaluates in other processes, as many at a time as there are processors. Sites take turns. A site that uses all
// processes does not keep other sites waiting, because a few additional processes serve them. A site whose evaluations
// had to be ended waits before the next one. It starts processes when they are needed, and is safe for concurrent use.
type Pool struct {
	path   string
	most   int
	places *turns.Places // shared by site

	mu      sync.Mutex
	idle    []*process // the most recently used one is last
	all     map[*process]bool
	closed  bool
	sweeper *time.Timer

	unstarted atomic.Int64
}

// New returns a Pool for a program whose main calls evaluator.Serve first: this program, or the one at path, which must
// be from the same build. It does not start a process yet.
func New(path string) *Pool {
	most := runtime.GOMAXPROCS(0)
	return &Pool{path: path, most: most, places: turns.New(most, 0, spare), all: map[*process]bool{}}
}

// Unstarted returns how many times the pool gave up starting an evaluator, so that an expression could not be
// evaluated.
func (p *Pool) Unstarted() int64 { return p.unstarted.Load() }

// Eval implements run.Evaluator.
func (p *Pool) Eval(ctx context.Context, all, vars *param.Map, s expr.Scope) (*param.Map, error) {
	return p.evaluator(ctx).Eval(all, vars, s)
}

// Template implements run.Evaluator.
func (p *Pool) Template(ctx context.Context, text string, vars *param.Map, s expr.Scope) (string, error) {
	return p.evaluator(ctx).Template(text, vars, s)
}

func (p *Pool) evaluator(ctx context.Context) *expr.Evaluator {
	return expr.New(func(q expr.Script) (string, error) { return p.script(ctx, q) })
}

// script evaluates one template in an evaluator. If a template crashes its evaluator, only that template fails. If the
// evaluator was killed from outside, a newly started one evaluates the template, because the cause of the kill may also
// have ended the idle ones.
func (p *Pool) script(ctx context.Context, q expr.Script) (string, error) {
	site := strconv.FormatInt(run.SiteOf(ctx), 10)
	leave, err := p.places.Take(ctx, site)
	if err != nil {
		return "", err
	}
	defer leave()
	text, err := p.scriptBy(ctx, p.take, p.start, q)
	if wrong := expr.ScriptError(""); errors.As(err, &wrong) && wrong.Exceeded() {
		p.places.Delay(site)
	}
	return text, err
}

// spare is the number of additional processes for sites that have none while the others are busy.
const spare = 4

// taking is a function that provides an evaluator.
type taking func(context.Context) (*process, error)

func (p *Pool) scriptBy(ctx context.Context, take, fresh taking, q expr.Script) (string, error) {
	for tries := 0; ; tries++ {
		text, err := p.ask(ctx, take, q)
		switch killed := errors.Is(err, errKilled); {
		case !killed && !errors.Is(err, errNotAsked):
			return text, err
		case tries > p.most: // more tries than there can have been idle evaluators: even new ones end
			return "", expr.ScriptError(err.Error())
		case killed:
			take, tries = fresh, p.most
		}
	}
}

// ask evaluates a template in an evaluator that take returns.
func (p *Pool) ask(ctx context.Context, take taking, q expr.Script) (string, error) {
	e, err := take(ctx)
	if err != nil {
		return "", err
	}
	sound := false
	defer func() { p.giveBack(e, sound) }()
	text, sound, err := e.evaluate(ctx, q)
	return text, err
}

// take returns an idle evaluator, or starts one.
func (p *Pool) take(ctx context.Context) (*process, error) {
	for {
		e, err := p.waiting()
		if err != nil || e == nil {
			break
		}
		if !e.isOver() {
			return e, nil
		}
		p.bury(e)
	}
	return p.start(ctx)
}

var errClosed = errors.New("evaluate an expression: it is shutting down")

// waiting takes the most recently used idle evaluator; nil if there is none.
func (p *Pool) waiting() (*process, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	n := len(p.idle)
	if n == 0 {
		return nil, nil
	}
	e := p.idle[n-1]
	p.idle = p.idle[:n-1]
	return e, nil
}

// If no evaluator can be started, that is not the task's fault: the start is retried for a while, and the task is
// retried later.
const (
	startTries = 6
	startPause = 100 * time.Millisecond // doubled each time
)

// startError is the error for an evaluator that could not be started. It is operators.ErrUnavailable if the machine
// temporarily lacked descriptors, processes, memory or time, and operators.ErrNoEvaluator otherwise.
type startError struct{ cause error }

func (e *startError) Error() string { return "start an evaluator of expressions: " + e.cause.Error() }

func (e *startError) Unwrap() error { return e.cause }

func (e *startError) Is(target error) bool {
	if target != operators.ErrUnavailable && target != operators.ErrNoEvaluator {
		return false
	}
	passes := errors.Is(e.cause, os.ErrDeadlineExceeded) || limits.Scarce(e.cause)
	return passes == (target == operators.ErrUnavailable)
}

func (p *Pool) start(ctx context.Context) (*process, error) {
	path := p.path
	if path == "" {
		path = program
	}
	var err error
	for try := range startTries {
		if path == "" {
			if path, err = os.Executable(); err != nil {
				return nil, fmt.Errorf("locate this executable: %w", err)
			}
		}
		var e *process
		if e, err = start(ctx, path); err == nil {
			return e, p.adopt(e)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if errors.Is(err, os.ErrNotExist) && p.path == "" {
			path = "" // this system has no /proc
		}
		select {
		case <-time.After(startPause << try):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	p.unstarted.Add(1)
	return nil, &startError{err}
}

// adopt makes Close also end the evaluator.
func (p *Pool) adopt(e *process) error {
	p.mu.Lock()
	closed := p.closed
	if !closed {
		p.all[e] = true
	}
	p.mu.Unlock()
	if closed {
		e.kill()
		return errClosed
	}
	return nil
}

func (p *Pool) giveBack(e *process, sound bool) {
	p.mu.Lock()
	if sound && !p.closed {
		e.since = time.Now()
		p.idle = append(p.idle, e)
		if p.sweeper == nil {
			p.sweeper = time.AfterFunc(idleTime, p.sweep)
		}
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	p.bury(e)
}

func (p *Pool) bury(e *process) {
	e.kill()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, e)
}

// sweep ends evaluators that have not been used for a while.
func (p *Pool) sweep() {
	p.mu.Lock()
	var old []*process
	for len(p.idle) > 0 && time.Since(p.idle[0].since) >= idleTime {
		old = append(old, p.idle[0])
		p.idle = p.idle[1:]
	}
	p.sweeper = nil
	if len(p.idle) > 0 {
		p.sweeper = time.AfterFunc(idleTime-time.Since(p.idle[0].since), p.sweep)
	}
	p.mu.Unlock()
	for _, e := range old {
		p.bury(e)
	}
}

// Close ends all evaluators at once; evaluations under way fail.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	idle, all := p.idle, p.all
	p.idle, p.all = nil, map[*process]bool{}
	if p.sweeper != nil {
		p.sweeper.Stop()
	}
	p.mu.Unlock()
	for e := range all {
		e.signal()
	}
	for _, e := range idle {
		e.kill()
	}
}

var _ run.Evaluator = (*Pool)(nil)
