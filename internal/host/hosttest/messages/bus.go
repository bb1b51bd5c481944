package messages

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/events"
	"zerodag/internal/host"
	"zerodag/internal/host/hosttest/suite"
)

// Bus checks a host.Bus for which all topics are selected.
func Bus(t *testing.T, h suite.Harness) {
	suite.Cases{"announcements are delivered": busArrive, "a canceled call fails": busCancelled}.Run(t, h)
}

func announcement(topic events.Topic) events.Announcement {
	return events.Announcement{Topic: topic, Time: suite.Instant(0), Detail: events.AttemptDetail{V: 1, ID: "7/" + string(topic), SiteID: 1}}
}

func busArrive(t *testing.T, s suite.Stores) {
	topics := []events.Topic{events.AttemptStarted, events.AttemptSucceeded, events.AttemptFailed, events.AttemptKilled, events.SLAMissed}
	want := map[string]events.Announcement{}
	for _, topic := range append(topics, events.AttemptStarted) { // one is announced twice
		a := announcement(topic)
		suite.Must(t, s.Bus.Announce(t.Context(), a))
		want[a.Detail.ID] = a
	}
	arrived := map[string]events.Announcement{}
	for _, a := range s.Heard(t) {
		arrived[a.Detail.ID] = a
	}
	if diff := cmp.Diff(want, arrived); diff != "" {
		t.Errorf("announcements by their ID (-want +got):\n%s", diff)
	}
}

func busCancelled(t *testing.T, s suite.Stores) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Bus.Announce(ctx, announcement(events.AttemptFailed)); err == nil {
		t.Error("a call with a canceled context succeeded")
	}
}

// Notices checks a host.Notices.
func Notices(t *testing.T, h suite.Harness) {
	suite.Cases{"notices are delivered": noticesArrive, "a canceled call fails": noticesCancelled}.Run(t, h)
}

func notice(task string) host.Notice {
	return host.Notice{Message: "Workflow session attempt failed", Revision: "r1", Task: task, Attempt: host.Attempt{ID: 7, Site: 1, SessionID: 3,
		Project: host.Ref{ID: 1, Name: "demo"}, Workflow: host.Ref{ID: 5, Name: "main"}, Zone: "+09:00", SessionTime: suite.Instant(0), SessionUUID: "u"}}
}

func noticesArrive(t *testing.T, s suite.Stores) {
	for _, task := range []string{"+main+a", ""} {
		suite.Must(t, s.Notices.Notify(t.Context(), notice(task)))
	}
	list := s.Told(t)
	if len(list) != 2 {
		t.Fatalf("got %d notices, want 2", len(list))
	}
	for i, task := range []param.Value{"+main+a", nil} {
		for key, want := range map[string]param.Value{"message": "Workflow session attempt failed", "project_name": "demo", "workflow_name": "main",
			"revision": "r1", "attempt_id": int64(7), "task_name": task, "session_time": "2023-11-15T07:13:20+09:00"} {
			if value, found := list[i].Get(key); !found || value != want {
				t.Errorf("notice %d: got %s %v, want %v", i, key, value, want)
			}
		}
	}
}

func noticesCancelled(t *testing.T, s suite.Stores) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Notices.Notify(ctx, notice("")); err == nil {
		t.Error("a call with a canceled context succeeded")
	}
}

// Tracer checks a host.Tracer.
func Tracer(t *testing.T, h suite.Harness) {
	suite.Cases{"an attempt has one trace": tracesOnce, "a canceled call fails": traceCancelled}.Run(t, h)
}

func traced(id int64) host.Attempt {
	a := notice("").Attempt
	a.ID, a.CreatedAt, a.FinishedAt, a.Done = id, suite.Instant(0), suite.Instant(1), true
	return a
}

func tracesOnce(t *testing.T, s suite.Stores) {
	for _, id := range []int64{7, 7, 8} { // one ends twice, as after a crash
		suite.Must(t, s.Tracer.Trace(traced(id), nil)(t.Context()))
	}
	list := s.Traced(t)
	if len(list) != 3 || list[0] != list[1] || list[0] == list[2] || list[0] == "" {
		t.Errorf("got traces %q of attempts 7, 7 and 8, want the same for 7", list)
	}
}

func traceCancelled(t *testing.T, s suite.Stores) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Tracer.Trace(traced(7), nil)(ctx); err == nil {
		t.Error("a call with a canceled context succeeded")
	}
}
