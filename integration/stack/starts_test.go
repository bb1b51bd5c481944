package stack_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"zerodag/engine/param"
	"zerodag/integration/stack"
	"zerodag/internal/client"
)

// TestStartsAtOnce checks that attempts that are all started at the same moment in an account where ten functions run
// at once each begin once, and that none fails. The clients are zerodag's own, which resend requests that API Gateway
// has rejected. ZERODAG_STARTS is the number of attempts (100).
//
// It runs alone because it uses all the capacity of the account.
func TestStartsAtOnce(t *testing.T) {
	s := stack.Alone(t)
	many := number(t, "ZERODAG_STARTS", 100)
	name := fmt.Sprintf("starts%d", time.Now().UnixNano())
	works := newWorks(t, 1)
	p, err := s.Push(t.Context(), name, map[string]string{"main.dig": "+a:\n  echo>: a\n+b:\n  http>: " + works.url + "/${attempt_id}/b\n"})
	if err != nil {
		t.Fatal(err)
	}
	fresh(t)
	began := time.Now()
	var turnedAway, givenUp, there atomic.Int64
	c, err := client.New(client.Options{Endpoint: s.URL, Header: http.Header{"Authorization": {"Bearer " + s.Token}},
		Wait: func(ctx context.Context, d time.Duration) error {
			turnedAway.Add(1)
			select {
			case <-time.After(d):
			case <-ctx.Done():
			}
			return ctx.Err()
		}})
	if err != nil {
		t.Fatal(err)
	}
	// A start names its session, so it may be sent again whatever the outcome of an earlier request: nothing is
	// duplicated.
	start := func(i int) error {
		for deadline := time.Now().Add(15 * time.Minute); ; {
			_, err := c.Start(t.Context(), client.Start{Workflow: client.ID(p.Workflows["main"]), SessionTime: time.Unix(int64(i), 0), Params: param.New()})
			var exists *client.ExistsError
			var status *client.StatusError
			switch {
			case errors.As(err, &exists): // the response to an earlier request did not arrive
				there.Add(1)
				return nil
			case err == nil, errors.As(err, &status) && status.Status < http.StatusInternalServerError, time.Now().After(deadline):
				return err
			}
			givenUp.Add(1)
		}
	}
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			if err := start(i); err != nil {
				t.Errorf("start %d: %v", i, err)
			}
		})
	}
	all.Wait()
	started := time.Since(began)
	if t.Failed() {
		return
	}
	allEnd(t, s, name, many)
	t.Logf("%d starts at once took %v, %d times API Gateway turned one away, %d times a client gave up and was asked again, %d starts were there already; all had ended after %v",
		many, started.Round(time.Second), turnedAway.Load(), givenUp.Load(), there.Load(), time.Since(began).Round(time.Second))
	if turnedAway.Load() == 0 {
		t.Error("nothing was turned away: that shows nothing")
	}
	works.mu.Lock()
	defer works.mu.Unlock()
	if len(works.begun) != many {
		t.Errorf("tasks of %d attempts ran, want %d", len(works.begun), many)
	}
	for key, runs := range works.begun {
		if len(runs) != 1 {
			t.Errorf("task %s ran %d times", key, len(runs))
		}
	}
}

// allEnd waits until a workflow has the given number of attempts and all have succeeded.
func allEnd(t *testing.T, s *stack.Stack, project string, many int) {
	t.Helper()
	until(t, 15*time.Minute, "all attempts have ended", func() bool {
		list, err := s.Attempts(t.Context(), project, "main")
		if err != nil {
			t.Fatal(err)
		}
		done := 0
		for _, a := range list {
			if a.Done {
				done++
			}
			if a.Done && !a.Success {
				t.Fatalf("attempt %s failed", a.ID)
			}
		}
		if len(list) != many {
			t.Fatalf("started %d attempts, found %d", many, len(list))
		}
		return done == many
	})
}
