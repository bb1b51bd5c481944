//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// store is an API that returns links, each valid once, and the store behind them.
type store struct {
	says  func() int // returns the status of an answer
	links int
	kept  map[string]bool // links that were used
}

func (s *store) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body := http.StatusOK, ""
	if r.URL.Host == "api" {
		s.links++
		body = fmt.Sprintf(`{"url":"http://store/%d?X-Amz-Signature=hunter2","blob":"b"}`, s.links)
	} else if status = s.says(); status == http.StatusOK {
		s.kept[r.URL.Path] = true
	} else {
		body = "AccessDenied"
	}
	return &http.Response{StatusCode: status, Status: fmt.Sprint(status), Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// TestStoreRefuses checks that the end of a command is reported, with the reason, even if the store never accepts its
// log or its output. It also checks that neither is abandoned because of a temporary failure.
func TestStoreRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name            string
		status          int
		passes          time.Duration // after this time the store accepts everything
		atLeast, atMost time.Duration
		lost            bool
	}{
		{"refused for good", 403, time.Hour, 30 * time.Second, 2 * time.Minute, true},
		{"links had expired", 403, 5 * time.Second, 5 * time.Second, 15 * time.Second, false},
		{"away for good", 503, time.Hour, deafTime, deafTime + time.Minute, true},
		{"away for long", 503, 14 * time.Minute, 14 * time.Minute, deafTime, false},
		{"throttled", 429, 5 * time.Minute, 5 * time.Minute, 6 * time.Minute, false},
		{"too slow", 408, 5 * time.Minute, 5 * time.Minute, 6 * time.Minute, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for what, leave := range map[string]func(*runner, context.Context) string{
				"log": func(r *runner, ctx context.Context) string {
					o := newOutput(r, order{Key: "2.0"})
					o.Write([]byte("done\n"))
					res := o.complete(ctx, result{Code: 3})
					if res.Code != 3 || res.Why != "" {
						t.Errorf("the end is %+v", res)
					}
					return res.LogLost
				},
				"output": func(r *runner, ctx context.Context) string {
					x := command{runner: r, order: order{Key: "2.0"}}
					if blob, err := x.upload(ctx, "output.json", []byte("{}")); err != nil {
						return err.Error()
					} else if blob != "b" {
						t.Errorf("it is at %q", blob)
					}
					return ""
				},
			} {
				synctest.Test(t, func(t *testing.T) {
					began := time.Now()
					s := &store{kept: map[string]bool{}}
					s.says = func() int {
						if time.Since(began) < c.passes {
							return c.status
						}
						return http.StatusOK
					}
					r := &runner{settings: settings{work: t.TempDir()}, api: &api{url: "http://api", client: &http.Client{Transport: s}}}
					lost := leave(r, t.Context())
					if took := time.Since(began); took < c.atLeast || took > c.atMost || s.links < 5 {
						t.Errorf("%s: it took %v and %d links", what, took, s.links)
					}
					if c.lost != strings.Contains(lost, fmt.Sprint(c.status, ": AccessDenied")) || c.lost == (len(s.kept) == 1) || strings.Contains(lost, "hunter2") {
						t.Errorf("%s: lost %q, kept %v", what, lost, s.kept)
					}
				})
			}
		})
	}
}

// TestStoreAway checks that a machine waits for the project of a command while the store is down or throttling, as long
// as its link is valid. It also checks that the machine does not wait after a refusal, and that a function gives up
// soon.
func TestStoreAway(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name            string
		status          int
		passes          time.Duration
		function        bool
		atLeast, atMost time.Duration
		lost            bool
	}{
		{"away for long", 503, 14 * time.Minute, false, 14 * time.Minute, deafTime, false},
		{"throttled", 429, 5 * time.Minute, false, 5 * time.Minute, 6 * time.Minute, false},
		{"away for good", 503, time.Hour, false, deafTime, deafTime + time.Minute, true},
		{"refused", 403, time.Hour, false, 0, time.Minute, true},
		{"a function", 503, time.Hour, true, 0, time.Minute, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				a := &api{client: &http.Client{Transport: &store{kept: map[string]bool{}, says: func() int {
					if time.Since(began) < c.passes {
						return c.status
					}
					return http.StatusOK
				}}}}
				if c.function {
					a.places = &places{}
				}
				in, err := a.get(t.Context(), "http://store/archive")
				if err == nil {
					in.Close()
				}
				if took := time.Since(began); (err != nil) != c.lost || took < c.atLeast || took > c.atMost {
					t.Errorf("after %v: %v", took, err)
				}
			})
		})
	}
}
