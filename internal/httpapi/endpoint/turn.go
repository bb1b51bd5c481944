package endpoint

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"time"

	"zerodag/internal/httpapi/access"
	"zerodag/internal/turns"
)

// Cost is the load that a request puts on the server, apart from its time limit.
type Cost int

// The costs. Requests that need no turn are served at once.
const (
	Cheap    Cost = iota
	Costly        // reads a lot of data for a small response: the end of a log, a plan, a search
	Checking      // analyzes files that the caller sent
)

// work shares the places for costly requests among callers.
type work struct{ costly, checking *turns.Places }

// newWork creates places for as many requests as keep the processors busy. One caller may use half of the places for
// costly requests, and one place for a check; a caller without a place gets a spare one.
func newWork() work {
	most := max(4, 2*runtime.GOMAXPROCS(0))
	return work{turns.New(most, most/2, spare), turns.New(2, 1, spare)}
}

const (
	spare    = 4
	mostTurn = 10 * time.Second // how long a request waits for its turn
)

// Turn waits until the request may do its costly part, and returns a function to call after it. If too many requests
// are under way, the error is a response with status 429.
func (c *Call) Turn(cost Cost) (leave func(), err error) {
	places := c.work.costly
	switch cost {
	case Cheap:
		return func() {}, nil
	case Checking:
		places = c.work.checking
	}
	ctx, cancel := context.WithTimeout(c.Ctx(), mostTurn)
	defer cancel()
	leave, err = places.Take(ctx, fmt.Sprintf("%d %s", c.Actor.Site, c.Actor.Name))
	if errors.Is(err, context.DeadlineExceeded) && c.Ctx().Err() == nil {
		c.W.Header().Set("Retry-After", "1")
		return nil, access.Refuse(http.StatusTooManyRequests, "too many costly requests are under way: try again in a moment")
	}
	return leave, err
}
