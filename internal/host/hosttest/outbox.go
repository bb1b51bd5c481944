package hosttest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/internal/host"
	"zerodag/internal/host/hosttest/suite"
)

// outboxSuite checks a host.Outbox.
func outboxSuite(t *testing.T, h suite.Harness) {
	suite.Cases{"store and list": outboxKept, "keys are unique": outboxNamed, "due notices": outboxDue, "one process tries": outboxClaimed, "old notices": outboxDropped}.Run(t, h)
}

// storedNotice returns a notice of an attempt that is due after some seconds.
func storedNotice(site, attempt int64, key string, due int64) host.StoredNotice {
	return host.StoredNotice{Key: key, Site: site, Attempt: attempt, Project: "demo", Workflow: "main", Message: "failed: ü", Body: []byte(`{"message":"failed: ü"}`),
		CreatedAt: suite.Instant(1), Since: suite.Instant(2), Due: suite.Instant(due)}
}

// stored lists the keys of notices.
func stored(t *testing.T, s suite.Stores, q host.NoticeQuery) (keys []string) {
	t.Helper()
	for _, n := range suite.Got(s.Outbox.Notices(t.Context(), q))(t) {
		keys = append(keys, n.Key)
	}
	return keys
}

func wantKeys(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func outboxKept(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	want := storedNotice(1, 7, "a", 10)
	suite.Must(t, s.Outbox.PutNotice(ctx, want))
	suite.Must(t, s.Outbox.PutNotice(ctx, storedNotice(1, 8, "b", 10)))
	suite.Must(t, s.Outbox.PutNotice(ctx, storedNotice(2, 9, "c", 10)))
	list := suite.Got(s.Outbox.Notices(ctx, host.NoticeQuery{Site: 1, Attempt: 7}))(t)
	if len(list) != 1 || list[0].ID == 0 {
		t.Fatalf("got %+v, want one notice with an id", list)
	}
	want.ID = list[0].ID
	if diff := cmp.Diff(want, list[0]); diff != "" {
		t.Errorf("stored notice (-want +got):\n%s", diff)
	}
	wantKeys(t, "of a site", stored(t, s, host.NoticeQuery{Site: 1}), "a", "b")
	wantKeys(t, "of all sites", stored(t, s, host.NoticeQuery{Site: host.AnySite}), "a", "b", "c")
	wantKeys(t, "the rest of a list", stored(t, s, host.NoticeQuery{Site: host.AnySite, After: want.ID, Count: 1}), "b")
	wantKeys(t, "by id", stored(t, s, host.NoticeQuery{Site: 1, ID: want.ID}), "a")
	wantKeys(t, "by id, of another site", stored(t, s, host.NoticeQuery{Site: 2, ID: want.ID}))
	suite.Must(t, s.Outbox.DeleteNotice(ctx, want.ID))
	suite.Must(t, s.Outbox.DeleteNotice(ctx, want.ID))
	wantKeys(t, "after a deletion", stored(t, s, host.NoticeQuery{Site: 1}), "b")
}

func outboxNamed(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	suite.Must(t, s.Outbox.PutNotice(ctx, storedNotice(1, 7, "a", 10)))
	again := storedNotice(1, 7, "a", 20)
	again.Message = "another"
	suite.Must(t, s.Outbox.PutNotice(ctx, again))
	list := suite.Got(s.Outbox.Notices(ctx, host.NoticeQuery{Site: 1}))(t)
	if len(list) != 1 || list[0].Message == "another" {
		t.Fatalf("got %+v, want the first notice", list)
	}
	suite.Must(t, s.Outbox.DeleteNotice(ctx, list[0].ID))
	suite.Must(t, s.Outbox.PutNotice(ctx, again))
	wantKeys(t, "a key that is free again", stored(t, s, host.NoticeQuery{Site: 1}), "a")
}

func outboxDue(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	for key, due := range map[string]int64{"third": 30, "first": 10, "second": 20} {
		suite.Must(t, s.Outbox.PutNotice(ctx, storedNotice(1, 7, key, due)))
	}
	due := func(at int64, n int) (keys []string) {
		for _, x := range suite.Got(s.Outbox.DueNotices(ctx, suite.Instant(at), n))(t) {
			keys = append(keys, x.Key)
		}
		return keys
	}
	wantKeys(t, "before the first", due(9, 10))
	wantKeys(t, "two are due", due(20, 10), "first", "second")
	wantKeys(t, "at most two", due(100, 2), "first", "second")
}

func outboxClaimed(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	suite.Must(t, s.Outbox.PutNotice(ctx, storedNotice(1, 7, "a", 10)))
	n := suite.Got(s.Outbox.DueNotices(ctx, suite.Instant(10), 1))(t)[0]
	n.Tries, n.Due = 1, suite.Instant(100)
	suite.Must(t, s.Outbox.UpdateNotice(ctx, n, 0))
	suite.WantError(t, "a second process", s.Outbox.UpdateNotice(ctx, n, 0), host.ErrConflict)
	n.Due, n.Error, n.GivenUpAt = time.Time{}, "no answer", suite.Instant(50)
	n.Since = suite.Instant(49)
	suite.Must(t, s.Outbox.UpdateNotice(ctx, n, 1))
	list := suite.Got(s.Outbox.Notices(ctx, host.NoticeQuery{Site: 1, GivenUp: true}))(t)
	if diff := cmp.Diff([]host.StoredNotice{n}, list); diff != "" {
		t.Errorf("given up (-want +got):\n%s", diff)
	}
	if due := suite.Got(s.Outbox.DueNotices(ctx, suite.Instant(1<<30), 1))(t); len(due) != 0 {
		t.Errorf("given up and due: %+v", due)
	}
	suite.Must(t, s.Outbox.DeleteNotice(ctx, n.ID))
	suite.WantError(t, "update a deleted notice", s.Outbox.UpdateNotice(ctx, n, 1), host.ErrConflict)
}

func outboxDropped(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	for key, at := range map[string]int64{"old": 10, "young": 20, "waiting": 0} {
		n := storedNotice(1, 7, key, 5)
		if at != 0 {
			n.Due, n.GivenUpAt = time.Time{}, suite.Instant(at)
		}
		suite.Must(t, s.Outbox.PutNotice(ctx, n))
	}
	suite.Must(t, s.Outbox.DropNotices(ctx, suite.Instant(15)))
	left := map[string]bool{}
	for _, key := range stored(t, s, host.NoticeQuery{Site: 1}) {
		left[key] = true
	}
	if diff := cmp.Diff(map[string]bool{"young": true, "waiting": true}, left); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}
