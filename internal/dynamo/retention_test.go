package dynamo_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/dynamo"
	"zerodag/internal/host"
)

// fragile are blobs that cannot be deleted for a while.
type fragile struct {
	dynamo.Blobs
	mu      sync.Mutex
	away    error
	deleted []string
}

func (f *fragile) Delete(ctx context.Context, key string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.away != nil {
		return f.away
	}
	f.deleted = append(f.deleted, key)
	return f.Blobs.Delete(ctx, key)
}

// TestForgottenBlobs proves that what an attempt has among the blobs goes although the process that removed
// its row went no further, and that nobody sees the attempt meanwhile.
func TestForgottenBlobs(t *testing.T) {
	t.Parallel()
	ctx, o := t.Context(), options(t)
	blobs := &fragile{Blobs: o.Blobs, away: errors.New("the process has ended")}
	o.Blobs = blobs
	db, _ := open(t, o)
	var list []host.Attempt
	for day := range int64(2) {
		made, err := db.Start(ctx, host.NewAttempt{Project: host.Ref{ID: 1, Name: "p"}, Workflow: host.Ref{ID: 2, Name: "w"}, SessionTime: time.Unix(day*86400, 0).UTC(), Zone: "UTC",
			CreatedAt: time.Now(), WaitsFor: -1, Params: param.New("large", noise(9000)), First: host.Entry{Seq: 1, Nonce: "n", At: time.Now()}, Message: host.StartMessage()})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Finish(ctx, made[0].ID, host.End{At: time.Now(), Archive: []byte(noise(30000))}); err != nil {
			t.Fatal(err)
		}
		list = append(list, made[0])
	}
	if _, err := db.Forget(ctx, 0, list[0].SessionID, time.Now().Add(time.Hour), nil); !errors.Is(err, blobs.away) {
		t.Fatalf("removed with %v", err)
	}
	if _, err := db.Attempt(ctx, 0, list[0].ID); !errors.Is(err, host.ErrNotFound) {
		t.Errorf("the attempt is there: %v", err)
	}
	if all, err := db.Attempts(ctx, host.AttemptQuery{Project: 1, Retried: true}); err != nil || len(all) != 1 || all[0].ID != list[1].ID {
		t.Errorf("there are attempts %+v, %v", all, err)
	}
	blobs.away = nil
	for range 2 { // the second one finds nothing
		if err := db.Clear(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if len(blobs.deleted) != 2 || !strings.HasPrefix(blobs.deleted[0], "state/") {
		t.Errorf("deleted were %v", blobs.deleted)
	}
	if state, err := db.Archive(ctx, list[1].ID); err != nil || len(state) != 30000 {
		t.Errorf("the final state of the other attempt has %d bytes, %v", len(state), err)
	}
}

// noise is text that does not get smaller by compression.
func noise(n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(rand.Text())
	}
	return b.String()[:n]
}
