package hosttest

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/internal/host"
	"zerodag/internal/host/hosttest/suite"
)

// outboxSuite checks a host.Outbox.
func outboxSuite(t *testing.T, h suite.Harness) {
	suite.Cases{"store and list": outboxKept, "keys are unique": outboxNamed, "due notices": outboxDue, "one process tries": outboxClaimed, "old notices": outboxDropped,
		"a group is quiet": outboxQuiet, "a summary": outboxSummary, "concurrent notices of a group": outboxConcurrent, "a group that is never quiet": outboxLoud, "old groups": outboxForgotten, "groups of a workflow": outboxGroups,
		"a repeated event": outboxRepeated, "outcomes of channels": outboxChannels}.Run(t, h)
}

// storedNotice returns an attempt's notice that is due after some seconds.
func storedNotice(site, attempt int64, key string, due int64) host.StoredNotice {
	return host.StoredNotice{Key: key, Channel: "ops", Kind: host.NoticeFailure, Site: site, Attempt: attempt, Project: "demo", Workflow: "main", Message: "failed: ü", Body: []byte(`{"message":"failed: ü"}`),
		CreatedAt: suite.Instant(1), Since: suite.Instant(2), Due: suite.Instant(due)}
}

// putNotices stores notices without a group.
func putNotices(t *testing.T, s suite.Stores, list ...host.StoredNotice) {
	t.Helper()
	suite.Must(t, s.Outbox.PutNotices(t.Context(), suite.Instant(1), host.NoticeBatch{Notices: list}))
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
	putNotices(t, s, want)
	putNotices(t, s, storedNotice(1, 8, "b", 10))
	putNotices(t, s, storedNotice(2, 9, "c", 10))
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
	wantKeys(t, "of a channel", stored(t, s, host.NoticeQuery{Site: 1, Channel: "ops"}), "a", "b")
	wantKeys(t, "waiting", stored(t, s, host.NoticeQuery{Site: 1, Waiting: true}), "a", "b")
	wantKeys(t, "of another channel", stored(t, s, host.NoticeQuery{Site: 1, Channel: "chat"}))
	wantKeys(t, "by id", stored(t, s, host.NoticeQuery{Site: 1, ID: want.ID}), "a")
	wantKeys(t, "by id, of another site", stored(t, s, host.NoticeQuery{Site: 2, ID: want.ID}))
	suite.Must(t, s.Outbox.DeleteNotice(ctx, want.ID))
	suite.Must(t, s.Outbox.DeleteNotice(ctx, want.ID))
	wantKeys(t, "after a deletion", stored(t, s, host.NoticeQuery{Site: 1}), "b")
}

func outboxNamed(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	putNotices(t, s, storedNotice(1, 7, "a", 10))
	again := storedNotice(1, 7, "a", 20)
	again.Message = "another"
	putNotices(t, s, again)
	list := suite.Got(s.Outbox.Notices(ctx, host.NoticeQuery{Site: 1}))(t)
	if len(list) != 1 || list[0].Message == "another" {
		t.Fatalf("got %+v, want the first notice", list)
	}
	suite.Must(t, s.Outbox.DeleteNotice(ctx, list[0].ID))
	putNotices(t, s, again)
	wantKeys(t, "a key that is free again", stored(t, s, host.NoticeQuery{Site: 1}), "a")
}

func outboxDue(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	other := storedNotice(1, 7, "of another channel", 1)
	other.Channel = "chat"
	putNotices(t, s, other)
	for key, due := range map[string]int64{"third": 30, "first": 10, "second": 20} {
		putNotices(t, s, storedNotice(1, 7, key, due))
	}
	due := func(at int64, n int) (keys []string) {
		for _, x := range suite.Got(s.Outbox.DueNotices(ctx, "ops", suite.Instant(at), n))(t) {
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
	putNotices(t, s, storedNotice(1, 7, "a", 10))
	n := suite.Got(s.Outbox.DueNotices(ctx, "ops", suite.Instant(10), 1))(t)[0]
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
	wantKeys(t, "waiting", stored(t, s, host.NoticeQuery{Site: 1, Waiting: true}))
	if due := suite.Got(s.Outbox.DueNotices(ctx, "ops", suite.Instant(1<<30), 1))(t); len(due) != 0 {
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
		putNotices(t, s, n)
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

// grouped returns an event of a group that is quiet until some second after a notice was sent.
func grouped(event string, until int64) host.NoticeBatch {
	return host.NoticeBatch{Event: event, Group: host.NoticeGroup{Key: "route/sign", Route: "route", Site: 1, Project: "demo", Workflow: "main", Kind: host.NoticeFailure,
		Until: suite.Instant(until), Body: []byte(`{"event":"` + event + `"}`)}, Notices: []host.StoredNotice{storedNotice(1, 7, event+"/ops", 10)}}
}

func wantGroup(t *testing.T, s suite.Stores, what string, want host.NoticeGroup) host.NoticeGroup {
	t.Helper()
	list := suite.Got(s.Outbox.NoticeGroups(t.Context(), host.GroupQuery{Site: 1}))(t)
	if diff := cmp.Diff([]host.NoticeGroup{want}, list); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
	return want
}

func outboxQuiet(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	suite.Must(t, s.Outbox.PutNotices(ctx, suite.Instant(10), grouped("first", 100)))
	want := grouped("first", 100).Group
	want.Seen, want.Last = 1, "first"
	wantGroup(t, s, "the first", want)
	suite.Must(t, s.Outbox.PutNotices(ctx, suite.Instant(99), grouped("second", 199)))
	wantKeys(t, "in the quiet time", stored(t, s, host.NoticeQuery{Site: 1}), "first/ops")
	want.Seen, want.Unsent, want.Last, want.Body = 2, 1, "second", grouped("second", 0).Group.Body
	wantGroup(t, s, "the second", want)
	suite.Must(t, s.Outbox.PutNotices(ctx, suite.Instant(101), grouped("third", 201)))
	wantKeys(t, "while a summary is due", stored(t, s, host.NoticeQuery{Site: 1}), "first/ops")
	want.Seen, want.Unsent, want.Last, want.Body = 3, 2, "third", grouped("third", 0).Group.Body
	wantGroup(t, s, "the third", want)
	suite.Must(t, s.Outbox.EndQuiet(ctx, []host.NoticeGroup{want}, suite.Instant(150)))
	suite.Must(t, s.Outbox.PutNotices(ctx, suite.Instant(150), grouped("fourth", 250)))
	wantKeys(t, "after the quiet time", stored(t, s, host.NoticeQuery{Site: 1}), "first/ops", "fourth/ops")
	want.Seen, want.Unsent, want.Last, want.Body, want.Until = 4, 0, "fourth", grouped("fourth", 0).Group.Body, suite.Instant(250)
	wantGroup(t, s, "the fourth", want)
	suite.Must(t, s.Outbox.DropGroups(ctx, suite.Instant(250), nil, nil))
	wantGroup(t, s, "a group that is not old", want)
	suite.Must(t, s.Outbox.DropGroups(ctx, suite.Instant(251), nil, nil))
	if list := suite.Got(s.Outbox.NoticeGroups(ctx, host.GroupQuery{Site: host.AnySite}))(t); len(list) != 0 {
		t.Errorf("an old group is left: %+v", list)
	}
}

func outboxSummary(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	suite.Must(t, s.Outbox.PutNotices(ctx, suite.Instant(10), grouped("first", 100)))
	due := func(at int64) []host.NoticeGroup {
		return suite.Got(s.Outbox.NoticeGroups(ctx, host.GroupQuery{Site: host.AnySite, Due: suite.Instant(at), Count: 9}))(t)
	}
	if list := due(500); len(list) != 0 {
		t.Errorf("due without unsent notices: %+v", list)
	}
	suite.Must(t, s.Outbox.PutNotices(ctx, suite.Instant(20), grouped("second", 120)))
	suite.Must(t, s.Outbox.DropGroups(ctx, suite.Instant(1000), nil, nil)) // unsent notices stay
	if list := due(99); len(list) != 0 {
		t.Errorf("due in the quiet time: %+v", list)
	}
	list := due(100)
	if len(list) != 1 || list[0].Unsent != 1 {
		t.Fatalf("got %+v, want one group with an unsent notice", list)
	}
	suite.Must(t, s.Outbox.EndQuiet(ctx, list, suite.Instant(200), storedNotice(1, 7, "summary", 10)))
	suite.WantError(t, "a second process", s.Outbox.EndQuiet(ctx, list, suite.Instant(300), storedNotice(1, 7, "again", 10)), host.ErrConflict)
	wantKeys(t, "sent", stored(t, s, host.NoticeQuery{Site: 1}), "first/ops", "summary")
	after := suite.Got(s.Outbox.NoticeGroups(ctx, host.GroupQuery{Site: 1}))(t)
	if len(after) != 1 || after[0].Unsent != 0 || after[0].Seen != 2 || !after[0].Until.Equal(suite.Instant(200)) {
		t.Errorf("after the summary: %+v", after)
	}
	suite.Must(t, s.Outbox.EndQuiet(ctx, after, time.Time{}, storedNotice(1, 7, "recovered", 10)))
	suite.WantError(t, "a removed group", s.Outbox.EndQuiet(ctx, after, time.Time{}, storedNotice(1, 7, "again", 10)), host.ErrConflict)
	wantKeys(t, "sent with the end", stored(t, s, host.NoticeQuery{Site: 1}), "first/ops", "summary", "recovered")
	if list := suite.Got(s.Outbox.NoticeGroups(ctx, host.GroupQuery{Site: 1}))(t); len(list) != 0 {
		t.Errorf("a removed group is left: %+v", list)
	}
}

// outboxConcurrent proves that if several processes store notices at the same time, one notice is sent and none is
// lost.
func outboxConcurrent(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	const n = 8
	var all sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		all.Go(func() { errs[i] = s.Outbox.PutNotices(ctx, suite.Instant(10), grouped(string(rune('a'+i)), 100)) })
	}
	all.Wait()
	suite.Must(t, errors.Join(errs...))
	if keys := stored(t, s, host.NoticeQuery{Site: 1}); len(keys) != 1 {
		t.Errorf("sent %v, want one notice", keys)
	}
	list := suite.Got(s.Outbox.NoticeGroups(ctx, host.GroupQuery{Site: 1}))(t)
	if len(list) != 1 || list[0].Seen != n || list[0].Unsent != n-1 {
		t.Errorf("got %+v, want %d notices", list, n)
	}
}

func outboxGroups(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	for key, of := range map[string]host.NoticeGroup{"a": {Site: 1, Project: "demo", Workflow: "main"}, "b": {Site: 1, Project: "demo", Workflow: "other"},
		"c": {Site: 1, Project: "other", Workflow: "main", Route: "x"}, "d": {Site: 2, Project: "demo", Workflow: "main", Route: "y"}} {
		of.Key, of.Kind, of.Until = key, host.NoticeFailure, suite.Instant(100)
		suite.Must(t, s.Outbox.PutNotices(ctx, suite.Instant(1), host.NoticeBatch{Event: key, Group: of}))
	}
	keys := func(q host.GroupQuery) (keys []string) {
		for _, g := range suite.Got(s.Outbox.NoticeGroups(ctx, q))(t) {
			keys = append(keys, g.Key)
		}
		return keys
	}
	wantKeys(t, "of a workflow", keys(host.GroupQuery{Site: 1, Project: "demo", Workflow: "main"}), "a")
	wantKeys(t, "of a site", keys(host.GroupQuery{Site: 1}), "a", "b", "c")
	wantKeys(t, "the first", keys(host.GroupQuery{Site: host.AnySite, Count: 1}), "a")
	wantKeys(t, "of routes", keys(host.GroupQuery{Site: host.AnySite, Routes: []string{"y", "x"}}), "c", "d")
	wantKeys(t, "of a route and a site", keys(host.GroupQuery{Site: 1, Routes: []string{"y"}}))
	wantKeys(t, "of other routes", keys(host.GroupQuery{Site: host.AnySite, Without: []string{"x", "z"}}), "a", "b", "d")
}

// outboxLoud proves that every notice of a group without a quiet time is sent, even if they are stored at the same time
// or the clocks differ, that they are counted, and that a repeated notice changes nothing.
func outboxLoud(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	const n = 8
	loud := func(event string) host.NoticeBatch {
		b := grouped(event, 0)
		b.Group.Until = time.Time{}
		return b
	}
	var all sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		all.Go(func() { errs[i] = s.Outbox.PutNotices(ctx, suite.Instant(int64(100-i)), loud(string(rune('a'+i)))) })
	}
	all.Wait()
	suite.Must(t, errors.Join(errs...))
	for range 2 {
		suite.Must(t, s.Outbox.PutNotices(ctx, suite.Instant(10), loud("last")))
	}
	if keys := stored(t, s, host.NoticeQuery{Site: 1}); len(keys) != n+1 {
		t.Errorf("sent %v, want %d notices", keys, n+1)
	}
	want := loud("last").Group
	want.Seen, want.Last, want.Until = n+1, "last", suite.Instant(10)
	wantGroup(t, s, "the group", want)
	suite.Must(t, s.Outbox.PutNotices(ctx, suite.Instant(20), grouped("quiet", 120)))
	suite.Must(t, s.Outbox.PutNotices(ctx, suite.Instant(30), grouped("counted", 130)))
	suite.Must(t, s.Outbox.PutNotices(ctx, suite.Instant(40), loud("sent")))
	if keys := stored(t, s, host.NoticeQuery{Site: 1}); len(keys) != n+3 || keys[n+2] != "sent/ops" {
		t.Errorf("sent %v, want also those after the quiet time was removed", keys)
	}
	if due := suite.Got(s.Outbox.NoticeGroups(ctx, host.GroupQuery{Site: 1, Due: suite.Instant(40)}))(t); len(due) != 1 || due[0].Unsent != 1 {
		t.Errorf("got %+v, want a summary of what was counted before", due)
	}
}

func outboxForgotten(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	for key, of := range map[string]host.NoticeGroup{"a": {Route: "x", Kind: host.NoticeFailure}, "b": {Route: "x", Kind: host.NoticeSlow}, "c": {Route: "y", Kind: host.NoticeFailure}, "d": {Route: "y", Kind: host.NoticeSLA}} {
		of.Key, of.Site, of.Project, of.Workflow, of.Until = key, 1, "demo", "main", suite.Instant(100)
		suite.Must(t, s.Outbox.PutNotices(ctx, suite.Instant(1), host.NoticeBatch{Event: key, Group: of}))
	}
	left := func() (keys []string) {
		for _, g := range suite.Got(s.Outbox.NoticeGroups(ctx, host.GroupQuery{Site: 1}))(t) {
			keys = append(keys, g.Key)
		}
		return keys
	}
	suite.Must(t, s.Outbox.DropGroups(ctx, suite.Instant(100), nil, nil))
	wantKeys(t, "not old", left(), "a", "b", "c", "d")
	suite.Must(t, s.Outbox.DropGroups(ctx, suite.Instant(101), []host.NoticeKind{host.NoticeSLA, host.NoticeLate}, nil))
	wantKeys(t, "without a kind", left(), "a", "b", "c")
	suite.Must(t, s.Outbox.DropGroups(ctx, suite.Instant(101), nil, []string{"y", "z"}))
	wantKeys(t, "without a route", left(), "a", "b")
	suite.Must(t, s.Outbox.DropGroups(ctx, suite.Instant(101), []host.NoticeKind{host.NoticeFailure}, []string{"x"}))
	wantKeys(t, "without a kind of a route", left(), "b")
	suite.Must(t, s.Outbox.DropNotices(ctx, suite.Instant(1000)))
	wantKeys(t, "without old notices", left(), "b")
	suite.Must(t, s.Outbox.DropGroups(ctx, suite.Instant(101), nil, nil))
	wantKeys(t, "without any", left())
}

func outboxRepeated(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	for range 2 {
		suite.Must(t, s.Outbox.PutNotices(ctx, suite.Instant(10), grouped("first", 100)))
	}
	for range 2 {
		suite.Must(t, s.Outbox.PutNotices(ctx, suite.Instant(20), grouped("second", 120)))
	}
	wantKeys(t, "sent", stored(t, s, host.NoticeQuery{Site: 1}), "first/ops")
	if list := suite.Got(s.Outbox.NoticeGroups(ctx, host.GroupQuery{Site: 1}))(t); len(list) != 1 || list[0].Seen != 2 || list[0].Unsent != 1 {
		t.Errorf("got %+v, want two notices, one of them unsent", list)
	}
}

func outboxChannels(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	suite.Must(t, s.Outbox.NoteDelivery(ctx, "ops", "no answer: ü", suite.Instant(1)))
	suite.Must(t, s.Outbox.NoteDelivery(ctx, "chat", "", suite.Instant(2)))
	suite.Must(t, s.Outbox.NoteDelivery(ctx, "ops", "", suite.Instant(3)))
	suite.Must(t, s.Outbox.NoteDelivery(ctx, "chat", "", suite.Instant(4)))
	given := storedNotice(1, 7, "given up", 10)
	given.Due, given.GivenUpAt = time.Time{}, suite.Instant(5)
	putNotices(t, s, storedNotice(1, 7, "waits", 10), given)
	want := []host.ChannelDelivery{{Channel: "chat", DeliveredAt: suite.Instant(4)}, {Channel: "ops", DeliveredAt: suite.Instant(3), FailedAt: suite.Instant(1), Error: "no answer: ü", Waiting: 1}}
	if diff := cmp.Diff(want, suite.Got(s.Outbox.Deliveries(ctx))(t)); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}
