package run

import (
	"errors"
	"math/rand/v2"
	"time"

	"zerodag/engine/param"
	"zerodag/operators"
)

// Limits on the delay before a run is retried because a store was unavailable.
const (
	shortestAway = 2 * time.Second
	longestAway  = time.Minute
	// mostWithoutEvaluator is how many times a run is postponed for lack of an evaluator: these waits take about a
	// minute, and the attempts to start one take half as long again.
	mostWithoutEvaluator = 5
)

// postponedKey is the key in the state of a postponed run that holds its run number and how many times it was
// postponed. Operators do not see it.
const postponedKey = "zerodag_postponed"

// Resume splits a task's state for its next run into the operator's part, the run's number (retries is the engine's
// count), and how many times it was postponed. A postponed run keeps its number: work that it may have begun elsewhere
// before its agent died is named after it.
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

// Postponed requests the run again if err means that a store was unavailable; otherwise it returns nil. The state is
// that of the previous run: this run's progress is determined again. The delay grows with the number of postponements
// and is partly random, so that a thousand tasks do not all return at once.
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
