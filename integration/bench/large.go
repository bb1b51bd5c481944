package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/internal/embedded"
	"zerodag/internal/host"
)

// The amounts of data that the issue names.
const (
	allSchedules, dueSchedules = 100_000, 10_000
	allAttempts                = 100_000
	perProject                 = 5_000
)

// filled makes the data of a server with many schedules and finished attempts.
func filled(store embedded.Store, due time.Time) error {
	ctx := context.Background()
	config, err := dig.ParseYAML("main.dig", []byte("schedule:\n  daily>: 00:00:00\n+a:\n  echo>: hi\n"))
	if err != nil {
		return err
	}
	for p := range allSchedules / perProject {
		push := host.Push{Project: fmt.Sprint("many", p), Revision: host.Revision{Name: "1", CreatedAt: time.Now().UTC(), Archive: "none"}, Schedules: map[string]host.NextTimes{}}
		for i := range perProject {
			run := due.Add(100 * 24 * time.Hour)
			if p < dueSchedules/perProject {
				run = due
			}
			name := fmt.Sprintf("w%d", i)
			push.Workflows = append(push.Workflows, dig.Workflow{Name: name, Zone: "UTC", Config: config.(*param.Map)})
			push.Schedules[name] = func(*host.Schedule, bool) host.Times {
				return host.Times{Run: run, Session: run.Truncate(24 * time.Hour)}
			}
		}
		if _, err := store.Push(ctx, push); err != nil {
			return err
		}
	}
	return fillAttempts(ctx, store)
}

func fillAttempts(ctx context.Context, store embedded.Store) error {
	workflows, err := store.Workflows(ctx, host.WorkflowQuery{Count: 1000})
	if err != nil {
		return err
	}
	var clients sync.WaitGroup
	var failed atomic.Value
	const side = 32
	for c := range side {
		clients.Go(func() {
			for i := c; i < allAttempts; i += side {
				w := workflows[i%len(workflows)]
				list, err := store.Start(ctx, host.NewAttempt{Project: w.Project, Workflow: host.Ref{ID: w.ID, Name: w.Name}, SessionTime: time.Unix(int64(i), 0).UTC(),
					Zone: "UTC", Params: param.New(), CreatedAt: time.Now().UTC(), WaitsFor: -1,
					First: host.Entry{Seq: 1, Nonce: "n", At: time.Now().UTC(), Changes: []byte("[]")}, Message: host.Message{ID: "start", Body: []byte(`{"v":1,"event":"start"}`)}})
				if err == nil {
					err = store.Finish(ctx, list[0].ID, host.End{At: time.Now().UTC(), Success: true})
				}
				if err != nil {
					failed.Store(err)
					return
				}
			}
		})
	}
	clients.Wait()
	if err, ok := failed.Load().(error); ok {
		return err
	}
	queue := store.Queue("events")
	for { // remove the messages of Start: these attempts have ended
		short, stop := context.WithTimeout(ctx, 50*time.Millisecond)
		list, err := queue.Receive(short, 1000, time.Minute)
		stop()
		if err != nil {
			return nil
		}
		for _, d := range list {
			if err := queue.Delete(ctx, d); err != nil {
				return err
			}
		}
	}
}

// lists measures schedules that are due together, and pages of lists among many rows.
func (b *bench) lists() error {
	folder := filepath.Join(b.dir, "large")
	due := time.Now().UTC().Truncate(time.Second)
	e, err := embedded.Open(context.Background(), embedded.Options{Folder: folder, Migrate: true, Sync: host.SyncNone})
	if err != nil {
		return err
	}
	if err := errors.Join(filled(e.DB, due), e.Close()); err != nil {
		return err
	}
	return b.listsOf(folder)
}

// listsOf measures the lists on a separate server.
func (b *bench) listsOf(folder string, options ...string) error {
	s, took, err := b.serve(folder, options...)
	if err != nil {
		return err
	}
	defer s.stop()
	began := time.Now()
	b.row(fmt.Sprintf("start with %d schedules, %d attempts", allSchedules, allAttempts), figure{took, s.memory()}, [2]string{}, "")
	for {
		var text bytes.Buffer
		if err := s.metrics(&text); err != nil {
			return err
		}
		var fired int
		for line := range strings.Lines(text.String()) {
			fmt.Sscanf(line, "zerodag_schedules_fired_total %d", &fired)
		}
		if fired >= dueSchedules {
			break
		}
		if time.Since(began) > 2*time.Minute {
			return fmt.Errorf("only %d of %d schedules fired", fired, dueSchedules)
		}
		time.Sleep(20 * time.Millisecond)
	}
	b.row(fmt.Sprintf("%d schedules due in one second, all started", dueSchedules), figure{time.Since(began), s.memory()}, [2]string{}, "under 20 s")
	for _, path := range []string{"/api/attempts", "/api/attempts?include_retried=true", "/api/attempts?last_id=50000", "/api/attempts?project=many0&workflow=w1", "/api/sessions", "/api/projects",
		"/api/projects/1/sessions", "/api/schedules", "/api/workflows?count=100", "/api/workflows?name_pattern=w49"} {
		took, err := median(11, func() error { return s.call(http.MethodGet, path, "", nil, nil) })
		if err != nil {
			return err
		}
		b.row("GET "+path, figure{took, s.memory()}, [2]string{}, "under 20 ms")
	}
	return nil
}

func (s *running) metrics(into *bytes.Buffer) error {
	answer, err := client.Get(s.url + "/api/metrics")
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = into.ReadFrom(answer.Body)
	return err
}
