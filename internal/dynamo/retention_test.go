package dynamo_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"zerodag/engine/param"
	"zerodag/integration/localstack"
	"zerodag/internal/dynamo"
	"zerodag/internal/dynamo/table"
	"zerodag/internal/host"
)

// fragile is a store of blobs that cannot be deleted for a while.
type fragile struct {
	table.Blobs
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

// TestForgottenBlobs proves that the blobs of an attempt are deleted even if the process that removed its row stopped
// there, and that the attempt is invisible in the meantime.
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
		t.Errorf("the final state of the other attempt is %d bytes, %v", len(state), err)
	}
}

// TestForgetSeesRetries proves that a session stays if it is started again at any moment while Forget checks it.
func TestForgetSeesRetries(t *testing.T) {
	t.Parallel()
	ctx, o := t.Context(), options(t)
	other, _ := open(t, o)
	c := localstack.Config(t)
	var armed atomic.Bool
	var calls atomic.Int64
	var at int64
	var retry func()
	c.APIOptions = append(c.APIOptions, func(s *middleware.Stack) error {
		return s.Initialize.Add(middleware.InitializeMiddlewareFunc("retry", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			if armed.Load() && calls.Add(1) == at {
				retry()
			}
			return next.HandleInitialize(ctx, in)
		}), middleware.After)
	})
	db := dynamo.New(c, o)
	start := func(session int64, name string) host.Attempt {
		made, err := other.Start(ctx, newAttempt(host.Project{ID: 1, Name: "p"}, session, name))
		if err != nil {
			t.Fatal(err)
		}
		return made[0]
	}
	end := func(a host.Attempt) host.Attempt {
		if err := other.Finish(ctx, a.ID, host.End{At: instant(70), Success: true}); err != nil {
			t.Fatal(err)
		}
		return a
	}
	end(start(1000, ""))
	for at = 1; ; at++ { // before each call that Forget makes
		old := end(start(at, ""))
		var running host.Attempt
		retry = func() { running = start(at, "again") }
		calls.Store(0)
		armed.Store(true)
		gone, err := db.Forget(ctx, 1, old.SessionID, instant(2000), nil)
		armed.Store(false)
		if err != nil {
			t.Fatal(err)
		}
		if running.ID == 0 {
			if !gone || at < 5 {
				t.Errorf("removed %v with %d calls", gone, calls.Load())
			}
			return
		}
		if _, err := other.Session(ctx, 1, old.SessionID); gone || err != nil {
			t.Errorf("started again before call %d: removed %v, the session: %v", at, gone, err)
		}
	}
}

// TestForgetCutOff proves that no attempt of a large session starts again automatically, no matter where the process
// that removed the session in parts was interrupted.
func TestForgetCutOff(t *testing.T) {
	t.Parallel()
	ctx, o := t.Context(), options(t)
	other, _ := open(t, o)
	var left atomic.Int64 // writes until the process ends
	c := localstack.Config(t)
	ended := errors.New("the process has ended")
	c.APIOptions = append(c.APIOptions, func(s *middleware.Stack) error {
		return s.Initialize.Add(middleware.InitializeMiddlewareFunc("end", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			if _, write := in.Parameters.(*dynamodb.TransactWriteItemsInput); write && left.Add(-1) < 0 {
				return middleware.InitializeOutput{}, middleware.Metadata{}, ended
			}
			return next.HandleInitialize(ctx, in)
		}), middleware.After)
	})
	db := dynamo.New(c, o)
	p := host.Project{ID: 1, Name: "p"}
	var names []string
	for i := range 32 { // the 30 in the middle are removed first
		names = append(names, fmt.Sprint("n", i))
	}
	var session int64
	for _, name := range names {
		session = overAt(t, other, newAttempt(p, 0, name)).SessionID
	}
	overAt(t, other, newAttempt(p, 60, "")) // the last session of a workflow stays
	for writes := int64(0); ; writes++ {    // removed attempts stay removed
		left.Store(min(writes, 1))
		gone, err := db.Forget(ctx, 1, session, instant(2000), nil)
		if !gone && !errors.Is(err, ended) {
			t.Fatalf("after %d writes: %v", writes, err)
		}
		for _, name := range []string{names[0], names[1], names[30], names[31]} {
			once := newAttempt(p, 0, name)
			once.Once = true
			if _, err := other.Start(ctx, once); !errors.Is(err, host.ErrConflict) && !errors.Is(err, host.ErrForgotten) {
				t.Errorf("after %d writes %s starts: %v", writes, name, err)
			}
		}
		if gone && writes != 2 {
			t.Errorf("it went with %d writes", writes)
		}
		if gone || t.Failed() {
			return
		}
	}
}

// overAt creates an attempt that has ended.
func overAt(t *testing.T, db *dynamo.DB, n host.NewAttempt) host.Attempt {
	t.Helper()
	made, err := db.Start(t.Context(), n)
	if err == nil {
		err = db.Finish(t.Context(), made[0].ID, host.End{At: instant(70), Success: true})
	}
	if err != nil {
		t.Fatal(err)
	}
	return made[0]
}

// noise returns text that compression does not make smaller.
func noise(n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(rand.Text())
	}
	return b.String()[:n]
}
