package run

import (
	"errors"
	"math/rand/v2"
	"time"

	"zerodag/engine/param"
	"zerodag/operators"
)

// Bounds of the time after which a run is made again that met a store which was away.
const (
	shortestAway = 2 * time.Second
	longestAway  = time.Minute
	// mostWithoutEvaluator is how often a run is postponed for want of an evaluator: for about a minute in all, and another half
	// that the tries to start one take.
	mostWithoutEvaluator = 5
)

// postponedKey is where the state keeps of a postponed run which run of the task it is, and how often it
// was postponed. No operator sees it.
const postponedKey = "zerodag_postponed"

// Resume takes apart the state of a task for its next run: what the operator has in it, which run of the
// task it is (retries is what the engine has counted), and how often that was postponed. A postponed run
// stays the run that it was: what it may have begun elsewhere before its agent died has its name.
func Resume(state *param.Map, retries int) (own *param.Map, run, away int) {
	kept, there := state.Get(postponedKey)
	list, ok := kept.([]param.Value)
	if !there || !ok || len(list) != 2 {
		return state, retries, 0
	}
	first, one := list[0].(int64)
	times, two := list[1].(int64)
	if !one || !two || first < 0 || times < 0 {
		return state, retries, 0
	}
	return state.Without(postponedKey), int(first), int(times)
}

// Postponed asks for the run again when err says that a store was not available; nil otherwise. The
// state is that of the run before: what this one had got to is looked at anew. The
// time grows with how often it was postponed and is partly random, so that a thousand tasks do not come
// back at once.
func (j *Job) Postponed(err error) *operators.Later { return j.postponed(err, j.State) }

func (j *Job) postponed(err error, state *param.Map) *operators.Later {
	if !operators.IsAway(err) || !errors.Is(err, operators.ErrUnavailable) && j.Away >= mostWithoutEvaluator {
		return nil
	}
	next := param.New()
	if state != nil {
		next = state.Clone()
	}
	next.Set(postponedKey, []param.Value{int64(j.RetryCount), int64(j.Away + 1)})
	most := min(shortestAway<<min(j.Away, 10), longestAway)
	return &operators.Later{After: most/2 + rand.N(most/2), State: next, Err: err} // #nosec G404 -- chance spreads runs, an attacker gains nothing by guessing it
}
