package sqs

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// TestReceivesThatCameToNothing checks which messages count as never begun: messages that each earlier receiver had for
// the whole visibility timeout of the queue.
func TestReceivesThatCameToNothing(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	q := New(aws.Config{Region: "us-east-1"}, Options{Name: "tasks", URL: "http://127.0.0.1:1/q", Visibility: 15 * time.Minute, Now: func() time.Time { return now }})
	for name, x := range map[string]struct {
		count   int
		since   time.Duration // the first receive; below 0: unknown
		unbegun bool
	}{
		"received first":                       {1, 0, false},
		"throttled once":                       {2, 15 * time.Minute, true},
		"throttled once, by a clock behind":    {2, 15*time.Minute - time.Second, true},
		"throttled three times":                {4, 46 * time.Minute, true},
		"died after the first act":             {2, 70 * time.Second, false},
		"died, then throttled":                 {3, 17 * time.Minute, false},
		"throttled, then died":                 {3, 17 * time.Minute, false},
		"at it for ten minutes, then died":     {2, 11 * time.Minute, false},
		"throttled twice, at it for ten, died": {4, 42 * time.Minute, false},
		"no time is known":                     {2, -1, false},
	} {
		r := Record{ID: name, Body: "e30", Attributes: map[string]string{"id": "1/" + name}, Count: x.count}
		if x.since >= 0 {
			r.First = now.Add(-x.since)
		}
		d, err := q.Adopt(r, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if d.Unbegun != x.unbegun {
			t.Errorf("%s: %v", name, d.Unbegun)
		}
	}
	q.Visibility = 0
	if d, _ := q.Adopt(Record{ID: "m", Attributes: map[string]string{"id": "1/m"}, Count: 2, First: now.Add(-time.Hour)}, time.Minute); d.Unbegun {
		t.Error("a queue whose visibility is not known cannot tell")
	}
}
