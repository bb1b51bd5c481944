package hosttest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"zerodag/internal/host/hosttest/suite"
)

// paramStoreSuite checks an operators.ParamStore.
func paramStoreSuite(t *testing.T, h suite.Harness) {
	suite.Cases{
		"set and get":                  paramsKept,
		"sets all values or none":      paramsAtOnce,
		"sites are isolated":           paramsApart,
		"a canceled call sets nothing": paramsCancelled,
	}.Run(t, h)
}

// paramIs checks the value of a key; "-" means that there is none.
func paramIs(t *testing.T, s suite.Stores, site int64, key, want string) {
	t.Helper()
	value, found, err := s.ParamStore(site).Get(t.Context(), key)
	suite.Must(t, err)
	if !found {
		value = "-"
	}
	if value != want {
		t.Errorf("%q of site %d: got %.40q, want %.40q", key, site, value, want)
	}
}

func paramsKept(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	long := strings.Repeat("x", 64<<10)
	suite.Must(t, s.ParamStore(1).Set(ctx, map[string]string{"a": "old", "b/../c": "✓ \n\x00", "empty": "", "long": long}))
	suite.Must(t, s.ParamStore(1).Set(ctx, map[string]string{"a": "new"}))
	suite.Must(t, s.ParamStore(1).Set(ctx, nil))
	for key, want := range map[string]string{"a": "new", "b/../c": "✓ \n\x00", "empty": "", "long": long, "A": "-", "missing": "-"} {
		paramIs(t, s, 1, key, want)
	}
}

func paramsApart(t *testing.T, s suite.Stores) {
	suite.Must(t, s.ParamStore(1).Set(t.Context(), map[string]string{"a": "one"}))
	suite.Must(t, s.ParamStore(2).Set(t.Context(), map[string]string{"a": "two"}))
	paramIs(t, s, 1, "a", "one")
	paramIs(t, s, 2, "a", "two")
	paramIs(t, s, 3, "a", "-")
}

// paramsAtOnce lets several writers set the same two keys: in the end both must come from the same writer.
func paramsAtOnce(t *testing.T, s suite.Stores) {
	var writers sync.WaitGroup
	for writer := range 4 {
		writers.Go(func() {
			for round := range 5 {
				value := fmt.Sprint(writer, "/", round)
				var err error
				for range 20 { // a transaction that conflicts with another may be refused, and is then retried
					if err = s.ParamStore(1).Set(t.Context(), map[string]string{"left": value, "right": value}); err == nil {
						break
					}
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	left, found, err := s.ParamStore(1).Get(t.Context(), "left")
	suite.Must(t, err)
	if !found {
		t.Error("no value was set")
	}
	paramIs(t, s, 1, "right", left)
}

func paramsCancelled(t *testing.T, s suite.Stores) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.ParamStore(1).Set(ctx, map[string]string{"a": "1", "b": "2"}); err == nil {
		t.Error("a call with a canceled context succeeded")
	}
	paramIs(t, s, 1, "a", "-")
	paramIs(t, s, 1, "b", "-")
}
