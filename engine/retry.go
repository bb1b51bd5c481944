package engine

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// RetryPolicy is a parsed `_retry` (language.md 1.9).
type RetryPolicy struct {
	Limit       int64  // retries, not runs
	Interval    int64  // seconds
	MaxInterval *int64 // seconds; nil for no limit; only for exponential
	Exponential bool
	keys.AddedRetry
}

// ParseRetry reads the value of `_retry` in a file with the given language level: a number, numeric text, or a mapping.
func ParseRetry(v param.Value, level int) (RetryPolicy, error) {
	var p RetryPolicy
	var err error
	if level > 0 {
		if p.AddedRetry, err = keys.ParseAddedRetry(v); err != nil {
			return p, err
		}
	}
	m, ok := v.(*param.Map)
	if !ok {
		return scalarRetry(v)
	}
	read := func(key string) int64 {
		x, _ := m.Get(key)
		if x == nil || err != nil {
			return 0
		}
		var n int64
		n, err = param.AsInt(key, x)
		return n
	}
	p.Limit, p.Interval = read("limit"), read("interval")
	if v, _ := m.Get("max_interval"); v != nil {
		most := read("max_interval")
		p.MaxInterval = &most
	}
	switch {
	case err != nil:
		return p, err
	case !m.Has("limit"):
		return p, param.Errorf("Parameter 'limit' is required but not set")
	case isNull(m, "limit"):
		return p, param.Errorf("Parameter 'limit' is required but null")
	}
	kind, _ := m.Get("interval_type")
	name, _ := kind.(string)
	switch {
	case kind == nil || strings.EqualFold(name, "constant"):
	case strings.EqualFold(name, "exponential"):
		p.Exponential = true
	default:
		return p, param.Errorf("Invalid retry_interval_type: %v", kind)
	}
	return p, err
}

func isNull(m *param.Map, key string) bool {
	v, ok := m.Get(key)
	return ok && v == nil
}

func scalarRetry(v param.Value) (RetryPolicy, error) {
	switch v.(type) {
	case int64, float64, string:
		if n, err := param.AsInt("_retry", v); err == nil {
			return RetryPolicy{Limit: n}, nil
		}
	}
	return RetryPolicy{}, param.Errorf("Invalid _retry format:%s", param.Text(v))
}

// retryCount is the key in state params that counts retries of every kind.
const retryCount = "retry_count"

// RetryState returns the part of a task's state that counts retries, without anything that an operator keeps in it.
func RetryState(state *param.Map) *param.Map {
	out := param.New()
	if n, there := state.Get(retryCount); there {
		out.Set(retryCount, n)
	}
	return out
}

// jobState is the key in state params of a job that a try has started elsewhere: the next try must not mistake it for
// its own.
const jobState = "commandStatus"

// Repeats reports whether a failure's exit code permits a retry.
func (p RetryPolicy) Repeats(failure *param.Map) bool {
	code, there := exitCode(failure)
	return p.ExitCodes == nil || there && slices.Contains(p.ExitCodes, code)
}

// Next returns the state params of the next try and how long to wait for it, or false if no retries are left. state is
// the failed try's state. of identifies the task among the tasks of all attempts: jitter is derived from it, so that
// every caller gets the same wait.
func (p RetryPolicy) Next(state *param.Map, of string) (*param.Map, time.Duration, bool) {
	done, _ := state.Get(retryCount)
	n, _ := done.(int64)
	if n >= p.Limit {
		return nil, 0, false
	}
	next := state.Without(jobState).Clone()
	next.Set(retryCount, n+1)
	return next, p.shorter(p.wait(n), fmt.Sprintf("%s/%d", of, n)), true
}

func (p RetryPolicy) wait(done int64) time.Duration {
	seconds := float64(p.Interval)
	if p.Exponential {
		seconds *= math.Pow(cmp.Or(p.Factor, 2), float64(done))
		if p.MaxInterval != nil {
			seconds = min(seconds, float64(*p.MaxInterval))
		}
	}
	const longest = 100 * 365 * 24 * 3600
	return time.Duration(math.Round(min(seconds, longest))) * time.Second
}

// shorter reduces a wait by a part, up to what jitter allows, in whole seconds. This spreads out retries of tasks that
// failed together.
func (p RetryPolicy) shorter(wait time.Duration, of string) time.Duration {
	if p.Jitter == 0 || wait <= 0 {
		return wait
	}
	sum := sha256.Sum256([]byte(of))
	part := float64(binary.BigEndian.Uint32(sum[:])) / (1 << 32)
	least := wait - time.Duration(float64(wait)*p.Jitter*part)
	return (least + time.Second - 1).Truncate(time.Second)
}
