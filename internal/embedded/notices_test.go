package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/catalogue"
	"zerodag/internal/embedded"
	"zerodag/internal/host"
	"zerodag/internal/node"
	"zerodag/internal/notice"
	"zerodag/internal/sqlite"
)

// down is a notice receiver that does not respond.
type down struct{ tried chan struct{} }

func (d down) Send(context.Context, *param.Map) (string, error) {
	select {
	case d.tried <- struct{}{}:
	default:
	}
	return "", errors.New("no answer")
}

// up is a receiver that accepts the notices and passes them on.
type up chan *param.Map

func (u up) Send(_ context.Context, fields *param.Map) (string, error) {
	u <- fields
	return "", nil
}

// TestNoticesOutliveTheServer proves that a failed attempt ends at once while its notice cannot be delivered, and that
// the next process that uses the same data delivers the notice, only once.
func TestNoticesOutliveTheServer(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	run := func(o embedded.Options) (*embedded.Engine, func()) {
		o.Folder, o.Migrate = folder, true
		e, err := embedded.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			e.Run(ctx, ctx, node.Parts{Executor: true, Agent: true, Scheduler: true})
		}()
		return e, func() {
			stop()
			<-ended
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	receiver := down{make(chan struct{}, 1)}
	soon := func(s notice.Sender) embedded.Options {
		return embedded.Options{Notices: notice.OutboxOptions{Channels: []notice.Channel{{Name: notice.Default, Sender: s}}, Routes: []notice.Route{notice.DefaultRoute()},
			Options: notice.Options{Retries: 1000, Shortest: time.Millisecond, Longest: 10 * time.Millisecond}}}
	}
	e, stop := run(soon(receiver))
	w := pushed(t, e, "+a:\n  fail>: broken\n")
	a, err := e.Start(t.Context(), catalogue.StartRequest{Workflow: w.ID, SessionTime: time.Unix(0, 0), Params: param.New()})
	if err != nil {
		t.Fatal(err)
	}
	for range e.Watch(t.Context(), a) {
	}
	if a, err = e.Attempt(t.Context(), 0, a.ID); err != nil || !a.Done || a.Success {
		t.Fatalf("the attempt did not end: %+v %v", a, err)
	}
	<-receiver.tried
	stored, err := e.DB.Notices(t.Context(), host.NoticeQuery{Attempt: a.ID})
	if err != nil || len(stored) != 1 || stored[0].Message != "Workflow session attempt failed" || stored[0].Project != "p" || stored[0].Workflow != "main" {
		t.Errorf("stored %+v %v", stored, err)
	}
	stop()
	told := make(up, 9)
	e, stop = run(soon(told))
	fields := <-told
	stop()
	if task, _ := fields.Get("failed_task"); task != "+main+a" {
		t.Errorf("told %v", fields)
	}
	if len(told) != 0 {
		t.Errorf("told %d times more", len(told))
	}
	if _, err := e.DB.Notices(context.Background(), host.NoticeQuery{}); err == nil {
		t.Error("the database is still open")
	}
}

// TestRecovery proves that the first success of a workflow after a failure is reported, once.
func TestRecovery(t *testing.T) {
	t.Parallel()
	told := make(up, 9)
	e, err := embedded.Open(t.Context(), embedded.Options{Folder: t.TempDir(), Migrate: true,
		Notices: notice.OutboxOptions{Channels: []notice.Channel{{Name: "ops", Sender: told}}, Routes: []notice.Route{{Name: "all", Channels: []string{"ops"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.Run(ctx, ctx, node.Parts{Executor: true, Agent: true, Scheduler: true})
	}()
	w := pushed(t, e, "+a:\n  if>: ${works}\n  _do: {echo>: fine}\n  _else_do: {fail>: broken}\n")
	for i, works := range []bool{true, false, true, true, false} {
		a, err := e.Start(t.Context(), catalogue.StartRequest{Workflow: w.ID, SessionTime: time.Unix(int64(i), 0), Params: param.New("works", works)})
		if err != nil {
			t.Fatal(err)
		}
		for range e.Watch(t.Context(), a) {
		}
	}
	for _, want := range []string{"failure", "recovered", "failure"} {
		fields := <-told
		if kind, _ := fields.Get("kind"); kind != want {
			t.Errorf("told %v, want %s", fields, want)
		}
	}
	stop()
	<-ended
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if len(told) != 0 {
		t.Errorf("told %d times more", len(told))
	}
}

// room is a receiver that can be down.
type room struct {
	mu   sync.Mutex
	down bool
	got  map[string]int // by attempt
}

func (r *room) Send(_ context.Context, fields *param.Map) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down {
		return "", errors.New("503 Service Unavailable")
	}
	id, _ := fields.Get("attempt_id")
	r.got[fmt.Sprint(id)]++
	return "200 OK", nil
}

// TestSixHoursOnDisk proves that every notice arrives once after its receiver was down for six hours, even though the
// program, with all its data on disk, was ended three times in between, and that the notices were visible all the time.
func TestSixHoursOnDisk(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "database")
	synctest.Test(t, func(t *testing.T) {
		receiver := &room{down: true, got: map[string]int{}}
		run := func() (*sqlite.DB, *notice.Outbox, func()) {
			db, err := sqlite.Open(t.Context(), sqlite.Options{Path: file, Migrate: true})
			if err != nil {
				t.Fatal(err)
			}
			b := notice.NewOutbox(db, notice.OutboxOptions{Options: notice.Options{Now: time.Now, Retries: 10}, Channels: []notice.Channel{{Name: "ops", Sender: receiver}},
				Routes: []notice.Route{{Name: "all", Channels: []string{"ops"}}}, Logger: slog.New(slog.DiscardHandler)})
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() { b.Run(ctx); close(ended) }()
			return db, b, func() {
				stop()
				<-ended
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			}
		}
		const runs, each = 4, 15
		kept := 0
		for range runs {
			db, b, stop := run()
			for range each {
				n := host.Notice{Kind: host.NoticeFailure, Message: "failed", Attempt: host.Attempt{ID: int64(kept), Site: 1, Project: host.Ref{Name: "p"}, Workflow: host.Ref{Name: "w"}}}
				if err := b.Keep(t.Context(), n, fmt.Sprintf("%d/", kept)); err != nil {
					t.Fatal(err)
				}
				kept++
				time.Sleep(6 * time.Hour / (runs * each))
				synctest.Wait()
				list, err := db.Notices(t.Context(), host.NoticeQuery{Site: 1, Waiting: true})
				if err != nil || len(list) != kept || slices.ContainsFunc(list, func(n host.StoredNotice) bool { return n.Error == "" }) {
					t.Fatalf("%d of %d notices are visible with their error: %v", len(list), kept, err)
				}
			}
			stop()
		}
		receiver.mu.Lock()
		receiver.down = false
		receiver.mu.Unlock()
		db, _, stop := run()
		defer stop()
		time.Sleep(70 * time.Minute) // the longest wait is an hour
		synctest.Wait()
		receiver.mu.Lock()
		defer receiver.mu.Unlock()
		for id, times := range receiver.got {
			if times != 1 {
				t.Errorf("the notice of attempt %s arrived %d times", id, times)
			}
		}
		left, err := db.Notices(t.Context(), host.NoticeQuery{Site: 1})
		if err != nil || len(left) != 0 || len(receiver.got) != kept {
			t.Errorf("%d of %d notices arrived, %d are left: %v", len(receiver.got), kept, len(left), err)
		}
	})
}
