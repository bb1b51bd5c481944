package operators

import (
	"errors"
	"math/rand/v2"
	"time"

	"zerodag/engine/param"
)

// Bounds of the time after which a run is made again that met a store which was away.
const (
	shortestAway = 2 * time.Second
	longestAway  = time.Minute
)

// Postponed asks for the run again when err says that a store was not available; nil otherwise. The
// state is that of the run before: what this one had got to is looked at anew. The
// time grows with the runs of the task and is partly random, so that a thousand tasks do not come
// back at once.
func (j *Job) Postponed(err error) *Later { return j.postponed(err, j.State) }

func (j *Job) postponed(err error, state *param.Map) *Later {
	if !errors.Is(err, ErrUnavailable) {
		return nil
	}
	most := min(shortestAway<<min(j.RetryCount, 10), longestAway)
	return &Later{After: most/2 + rand.N(most/2), State: state, Err: err} // #nosec G404 -- chance spreads runs, an attacker gains nothing by guessing it
}
