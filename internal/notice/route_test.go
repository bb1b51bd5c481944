package notice_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/host"
	"zerodag/internal/notice"
)

// about returns a notice about a workflow.
func about(kind host.NoticeKind, project, workflow string) host.Notice {
	return host.Notice{Kind: kind, Message: "m", Attempt: host.Attempt{ID: 7, Site: 1, Project: host.Ref{ID: 1, Name: project}, Workflow: host.Ref{ID: 5, Name: workflow}}}
}

// TestMatches checks which notices a route selects.
func TestMatches(t *testing.T) {
	t.Parallel()
	n := about(host.NoticeFailure, "shop", "etl/nightly")
	n.Tags = []string{"daily", "team=sales"}
	for _, c := range []struct {
		route notice.Route
		want  bool
	}{
		{notice.Route{}, true},
		{notice.Route{Projects: []string{"sh*", "x"}, Workflows: []string{"*nightly"}, Sites: []int64{0, 1}, Kinds: []host.NoticeKind{"failure"}, Tags: []string{"team=sales"}}, true},
		{notice.Route{Projects: []string{"s"}}, false}, {notice.Route{Workflows: []string{"nightly"}}, false}, {notice.Route{Sites: []int64{0}}, false},
		{notice.Route{Kinds: []host.NoticeKind{"sla"}}, false}, {notice.Route{Tags: []string{"sales"}}, false}, {notice.Route{Projects: []string{"sho?", "["}}, true},
		{notice.DefaultRoute(), true},
	} {
		if got := c.route.Matches(n); got != c.want {
			t.Errorf("%+v: %v", c.route, got)
		}
	}
	if notice.CheckGlob("[") == nil || notice.CheckGlob("a*[b-c]?") != nil {
		t.Error("malformed globs are not recognized")
	}
	for _, kind := range []host.NoticeKind{host.NoticeLate, host.NoticeStartFailed, host.NoticeRecovered} {
		if notice.DefaultRoute().Matches(about(kind, "p", "w")) {
			t.Errorf("the settings of Digdag also notify about %s", kind)
		}
	}
}

// rooms holds the channels' receivers, by name.
type rooms map[string]*room

// room records what a channel received.
type room struct {
	mu    sync.Mutex
	wrong error // nil: it works
	got   []*param.Map
	tries int
}

func (r *room) Send(_ context.Context, fields *param.Map) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tries++
	if r.wrong == nil {
		r.got = append(r.got, fields)
	}
	return "thanks", r.wrong
}

func (r *room) set(wrong error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrong = wrong
}

// told lists one field of the received notices.
func (r *room) told(field string) (list []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, fields := range r.got {
		v, _ := fields.Get(field)
		list = append(list, fmt.Sprint(v))
	}
	return list
}

func (r rooms) options(w *watched, routes ...notice.Route) notice.OutboxOptions {
	o := w.options(nil)
	o.Routes, o.Channels = routes, nil
	for _, name := range slices.Sorted(maps.Keys(r)) {
		o.Channels = append(o.Channels, notice.Channel{Name: name, Sender: r[name], Ordered: name == "pager"})
	}
	return o
}

func keep(t *testing.T, b *notice.Outbox, n host.Notice, key string) {
	t.Helper()
	if err := b.Keep(t.Context(), n, key); err != nil {
		t.Fatal(err)
	}
}

func wantTold(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// TestRoutes proves that a notice goes to the channels of all matching routes, once to each channel, and that a channel
// that is down does not delay the others.
func TestRoutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w watched
		all := rooms{"ops": {}, "sales": {}, "dead": {wrong: errors.New("no answer")}}
		store := newMemory()
		b := notice.NewOutbox(store, all.options(&w, notice.Route{Name: "a", Channels: []string{"dead", "ops"}}, notice.Route{Name: "b", Channels: []string{"ops", "sales"}, Projects: []string{"shop"}}))
		defer running(t, b)()
		for i := range 100 {
			keep(t, b, about(host.NoticeFailure, "shop", "main"), fmt.Sprintf("%d/", i))
		}
		keep(t, b, about(host.NoticeSLA, "other", "main"), "100/")
		synctest.Wait()
		time.Sleep(time.Second)
		synctest.Wait()
		if a, b := len(all["ops"].told("kind")), len(all["sales"].told("kind")); a != 101 || b != 100 {
			t.Errorf("ops got %d of 101, sales %d of 100", a, b)
		}
		left, err := store.Notices(t.Context(), host.NoticeQuery{Site: 1})
		if err != nil || len(left) != 101 || slices.ContainsFunc(left, func(n host.StoredNotice) bool { return n.Channel != "dead" || n.Error != "no answer" }) {
			t.Errorf("%d notices are left, want those of the channel that is down: %v", len(left), err)
		}
	})
}

// TestUnrouted proves that a notice that no route selects is not stored.
func TestUnrouted(t *testing.T) {
	t.Parallel()
	var w watched
	store := newMemory()
	b := notice.NewOutbox(store, rooms{"ops": {}}.options(&w, notice.Route{Name: "a", Channels: []string{"ops"}, Projects: []string{"shop"}}))
	keep(t, b, about(host.NoticeFailure, "other", "main"), "1/")
	if len(store.all()) != 0 {
		t.Errorf("stored %+v", store.all())
	}
}

// TestSixHours proves that every notice arrives once after its receiver was down for six hours and the server was
// started three times in between, and that each notice and its error were visible all the time.
func TestSixHours(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w watched
		store, ops := newMemory(), &room{wrong: errors.New("ops responded with 503 Service Unavailable")}
		open := func() *notice.Outbox {
			return notice.NewOutbox(store, rooms{"ops": ops}.options(&w, notice.Route{Name: "a", Channels: []string{"ops"}}))
		}
		const each = 15
		kept := 0
		for range 4 {
			b := open()
			stop := running(t, b)
			for range each {
				n := about(host.NoticeFailure, "shop", fmt.Sprintf("w%d", kept))
				keep(t, b, n, fmt.Sprintf("%d/", kept))
				kept++
				time.Sleep(6 * time.Hour / (4 * each))
				synctest.Wait()
				list, err := store.Notices(t.Context(), host.NoticeQuery{Site: 1, Channel: "ops"})
				if err != nil || len(list) != kept || slices.ContainsFunc(list, func(n host.StoredNotice) bool { return n.Error == "" || n.Due.IsZero() }) {
					t.Fatalf("%d of %d notices are visible with their error: %v", len(list), kept, err)
				}
				state, err := store.Deliveries(t.Context())
				if err != nil || len(state) != 1 || state[0].Error == "" || state[0].Waiting != kept || !state[0].DeliveredAt.IsZero() {
					t.Fatalf("the channel is shown as %+v, %v", state, err)
				}
			}
			stop()
		}
		ops.set(nil)
		defer running(t, open())()
		time.Sleep(70 * time.Minute) // the longest wait is an hour
		synctest.Wait()
		got := ops.told("workflow_name")
		slices.Sort(got)
		if len(slices.Compact(slices.Clone(got))) != kept || len(got) != kept || len(store.all()) != 0 {
			t.Errorf("%d notices arrived, want each of %d once; %d are left: %q", len(got), kept, len(store.all()), got)
		}
		if len(w.given()) != 0 {
			t.Errorf("lost %v", w.given())
		}
	})
}

// TestQuiet proves that further notices of the same trouble are only counted during a route's quiet time, that one
// summary follows, even from a later process, and that notices of other trouble are not delayed.
func TestQuiet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w watched
		store, ops := newMemory(), &room{}
		open := func() *notice.Outbox {
			return notice.NewOutbox(store, rooms{"ops": ops}.options(&w, notice.Route{Name: "a", Channels: []string{"ops"}, Quiet: time.Hour}))
		}
		failure := func(i int) host.Notice {
			n := about(host.NoticeFailure, "shop", "main")
			n.Message, n.Attempt.ID, n.Failure = "Workflow session attempt failed", int64(i), &host.Failure{Task: "+main+load", Message: fmt.Sprintf("%d rows are missing", i)}
			return n
		}
		b := open()
		stop := running(t, b)
		for i := range 15 {
			keep(t, b, failure(i), fmt.Sprintf("%d/", i))
			time.Sleep(time.Minute)
		}
		other := failure(99)
		other.Failure = &host.Failure{Task: "+main+load", Message: "disk full"}
		keep(t, b, other, "99/")
		synctest.Wait()
		wantTold(t, "in the quiet time", ops.told("error"), "0 rows are missing", "disk full")
		stop()
		defer running(t, open())()
		time.Sleep(44 * time.Minute)
		synctest.Wait()
		wantTold(t, "before its end", ops.told("error"), "0 rows are missing", "disk full")
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		wantTold(t, "after it", ops.told("message"), "Workflow session attempt failed", "Workflow session attempt failed", "14 more: Workflow session attempt failed")
		if got := ops.told("more"); got[2] != "14" || ops.told("attempt_id")[2] != "14" {
			t.Errorf("the summary: more %q, attempts %q", got, ops.told("attempt_id"))
		}
		keep(t, b, failure(20), "20/")
		time.Sleep(62 * time.Minute)
		synctest.Wait()
		wantTold(t, "after another quiet time", ops.told("message")[3:], "1 more: Workflow session attempt failed")
		time.Sleep(62 * time.Minute)
		keep(t, open(), failure(21), "21/")
		time.Sleep(time.Minute)
		synctest.Wait()
		wantTold(t, "long after", ops.told("error")[4:], "21 rows are missing")
	})
}

// TestRecovered proves that the first success after a failure is reported once, on the routes that reported the
// failure, that it ends the quiet time, and that a success without a failure is not reported.
func TestRecovered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w watched
		all := rooms{"ops": {}, "mute": {}, "failures": {}}
		store := newMemory()
		b := notice.NewOutbox(store, all.options(&w, notice.Route{Name: "a", Channels: []string{"ops"}, Quiet: time.Hour}, notice.Route{Name: "b", Channels: []string{"mute"}, Projects: []string{"other"}},
			notice.Route{Name: "c", Channels: []string{"failures"}, Kinds: []host.NoticeKind{host.NoticeFailure}}))
		defer running(t, b)()
		succeeded := func(workflow string) {
			t.Helper()
			a := about("", "shop", workflow).Attempt
			if err := b.Succeeded(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		succeeded("main")
		for i := range 3 {
			keep(t, b, about(host.NoticeFailure, "shop", "main"), fmt.Sprintf("%d/", i))
		}
		keep(t, b, about(host.NoticeSlow, "shop", "main"), "3/")
		succeeded("other")
		succeeded("main")
		succeeded("main")
		got := all["ops"].told("kind")
		if len(got) != 3 || got[2] != "recovered" || all["ops"].told("failures")[2] != "3" {
			t.Errorf("got %q with %q failures, want a failure, a warning and the recovery", got, all["ops"].told("failures"))
		}
		keep(t, b, about(host.NoticeFailure, "shop", "main"), "4/")
		synctest.Wait()
		wantTold(t, "a failure after the recovery", all["ops"].told("kind")[3:], "failure")
		wantTold(t, "another project", all["mute"].told("kind"))
		wantTold(t, "failures alone", all["failures"].told("kind"), "failure", "failure", "failure", "failure")
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if n := len(all["ops"].told("kind")); n != 4 {
			t.Errorf("ops got %d notices, want no summary of the failures before the recovery: %q", n, all["ops"].told("message"))
		}
	})
}

// TestOrdered proves that an ordered channel gets the notices of a workflow in their order, even if the first one had to
// be retried, and that another workflow does not wait.
func TestOrdered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w watched
		store, pager := newMemory(), &room{wrong: errors.New("no answer")}
		b := notice.NewOutbox(store, rooms{"pager": pager}.options(&w, notice.Route{Name: "a", Channels: []string{"pager"}}))
		defer running(t, b)()
		keep(t, b, about(host.NoticeFailure, "shop", "main"), "1/")
		time.Sleep(20 * time.Minute)
		if err := b.Succeeded(t.Context(), about("", "shop", "main").Attempt); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		pager.set(nil)
		keep(t, b, about(host.NoticeFailure, "shop", "other"), "2/")
		synctest.Wait()
		wantTold(t, "while the first waits for its retry", pager.told("workflow_name"), "other")
		time.Sleep(time.Hour)
		synctest.Wait()
		wantTold(t, "afterwards", pager.told("kind"), "failure", "failure", "recovered")
	})
}

// TestSlowDown proves that a channel pauses as long as its receiver demands, and that a notice that its receiver
// refuses permanently is retried once an hour.
func TestSlowDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w watched
		store, ops, gone := newMemory(), &room{wrong: &notice.Refusal{Err: errors.New("429"), After: 5 * time.Minute}}, &room{wrong: &notice.Refusal{Err: errors.New("410 Gone"), Permanent: true}}
		b := notice.NewOutbox(store, rooms{"ops": ops, "gone": gone}.options(&w, notice.Route{Name: "a", Channels: []string{"ops", "gone"}}))
		defer running(t, b)()
		for i := range 40 {
			keep(t, b, about(host.NoticeFailure, "shop", "main"), fmt.Sprintf("%d/", i))
		}
		time.Sleep(4 * time.Minute)
		synctest.Wait()
		if ops.tries > 16 || ops.tries == 0 {
			t.Errorf("%d tries although the receiver asked for a pause", ops.tries)
		}
		ops.set(nil)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if n := len(ops.told("kind")); n != 40 {
			t.Errorf("%d notices arrived, want 40", n)
		}
		time.Sleep(3*time.Hour - 7*time.Minute)
		synctest.Wait()
		if gone.tries != 3*40 {
			t.Errorf("%d tries in three hours, want one an hour for each of 40 notices", gone.tries)
		}
	})
}

// TestRemovedChannel proves that the notices of a channel that was removed stay visible with the reason, and are given
// up on after a day.
func TestRemovedChannel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w watched
		store := newMemory()
		route := notice.Route{Name: "a", Channels: []string{"old"}}
		keep(t, notice.NewOutbox(store, rooms{"old": {}}.options(&w, route)), about(host.NoticeFailure, "shop", "main"), "1/")
		defer running(t, notice.NewOutbox(store, rooms{"new": {}}.options(&w, notice.Route{Name: "a", Channels: []string{"new"}})))()
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := store.all()[0]; !strings.Contains(n.Error, "channel old is no longer configured") || n.Due.IsZero() {
			t.Errorf("after an hour: %+v", n)
		}
		time.Sleep(25 * time.Hour)
		synctest.Wait()
		if n := store.all()[0]; n.GivenUpAt.IsZero() || len(w.given()) != 1 {
			t.Errorf("after a day: %+v, lost %v", n, w.given())
		}
	})
}

// skewed returns options of a server whose clock is wrong.
func skewed(o notice.OutboxOptions, by time.Duration) notice.OutboxOptions {
	o.Now = func() time.Time { return time.Now().Add(by) }
	return o
}

// TestNoQuiet proves that a route without a quiet time sends every notice, whatever the servers' clocks show.
func TestNoQuiet(t *testing.T) {
	t.Parallel()
	var w watched
	store := newMemory()
	o := rooms{"ops": {}}.options(&w, notice.Route{Name: "a", Channels: []string{"ops"}})
	servers := []*notice.Outbox{notice.NewOutbox(store, skewed(o, time.Hour)), notice.NewOutbox(store, o), notice.NewOutbox(store, skewed(o, -time.Hour))}
	for i := range 9 {
		keep(t, servers[i%3], about(host.NoticeFailure, "shop", "main"), fmt.Sprintf("%d/", i))
	}
	if n := len(store.all()); n != 9 {
		t.Errorf("%d of 9 notices are sent", n)
	}
}

// TestRemovedRoute proves that a server leaves the counted notices of a route that it does not have to another server,
// that they do not delay the notices of its own routes, and that after a day it logs how many are lost and that a
// recovery is still reported.
func TestRemovedRoute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w watched
		store, ops := newMemory(), &room{}
		route := func(name string) notice.Route {
			return notice.Route{Name: name, Channels: []string{"ops"}, Quiet: time.Hour}
		}
		open := func(routes ...notice.Route) *notice.Outbox {
			return notice.NewOutbox(store, rooms{"ops": ops}.options(&w, routes...))
		}
		const more = 101 // than one pass reads
		old := open(route("a"))
		for i := range 2 * more {
			keep(t, old, about(host.NoticeFailure, "shop", fmt.Sprintf("w%d", i/2)), fmt.Sprintf("%d/", i))
		}
		unsent := func() (n int) {
			for _, g := range store.groups {
				n += g.Unsent
			}
			return n
		}
		started := open(route("b"))
		stop := running(t, started)
		for i := range 2 {
			keep(t, started, about(host.NoticeFailure, "other", "main"), fmt.Sprintf("other %d/", i))
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if got := ops.told("message"); len(got) != more+2 || got[more+1] != "1 more: m" {
			t.Errorf("%d notices arrived, want %d and the summary of the server's own route", len(got), more+1)
		}
		if n := unsent(); n != more {
			t.Errorf("%d of %d counted notices are left", n, more)
		}
		stop()
		back := open(route("a"))
		stop = running(t, back)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := ops.told("message"); len(got) != 2*more+2 || unsent() != 0 {
			t.Errorf("%d notices arrived, want also %d summaries by the server that has the route", len(got), more)
		}
		keep(t, back, about(host.NoticeFailure, "shop", "w7"), "again/")
		stop()
		stop = running(t, open(route("b")))
		time.Sleep(27 * time.Hour)
		synctest.Wait()
		stop()
		if text := w.text(); strings.Count(text, "route=a count=1 project=shop workflow=w7") != 1 || strings.Count(text, "level=WARN") != 1 || unsent() != 0 || len(w.given()) != 1 {
			t.Errorf("%d are left, lost %v, want one line about the lost notice:\n%s", unsent(), w.given(), text)
		}
		if err := back.Succeeded(t.Context(), about("", "shop", "w7").Attempt); err != nil {
			t.Fatal(err)
		}
		if list := store.all(); len(list) != 1 || list[0].Kind != host.NoticeRecovered {
			t.Errorf("stored %+v, want the recovery", list)
		}
	})
}

// TestSummaryAfterRecovery proves that the summary of trouble that begins again after a recovery is stored while the
// first summary still waits for its receiver.
func TestSummaryAfterRecovery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w watched
		store := newMemory()
		b := notice.NewOutbox(store, rooms{"ops": {wrong: errors.New("no answer")}}.options(&w, notice.Route{Name: "a", Channels: []string{"ops"}, Quiet: time.Hour}))
		defer running(t, b)()
		for round := range 2 {
			for i := range 2 {
				n := about(host.NoticeFailure, "shop", "main")
				n.Attempt.ID = int64(10*round + i)
				keep(t, b, n, fmt.Sprintf("%d/", n.Attempt.ID))
			}
			time.Sleep(2 * time.Hour)
			a := about("", "shop", "main").Attempt
			a.ID = int64(10*round + 9)
			if err := b.Succeeded(t.Context(), a); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		for _, n := range store.all() {
			got = append(got, n.Message)
		}
		once := []string{"m", "1 more: m", "Workflow succeeded again"}
		wantTold(t, "stored", got, append(once, once...)...)
	})
}

// TestLongTrouble proves that a recovery is reported more than a year after the failure, and that groups that do not
// wait for a recovery are removed after 30 days.
func TestLongTrouble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const day = 24 * time.Hour
		var w watched
		store := newMemory()
		routes := []notice.Route{{Name: "all", Channels: []string{"ops"}, Quiet: time.Hour}, {Name: "failures", Channels: []string{"ops"}, Quiet: time.Hour, Kinds: []host.NoticeKind{host.NoticeFailure}}}
		o := rooms{"ops": {}}.options(&w, routes...)
		then := notice.NewOutbox(store, skewed(o, -390*day))
		keep(t, then, about(host.NoticeFailure, "shop", "yearly"), "1/")
		keep(t, then, about(host.NoticeSlow, "shop", "yearly"), "2/")
		keep(t, notice.NewOutbox(store, skewed(o, -410*day)), about(host.NoticeFailure, "shop", "forgotten"), "3/")
		keep(t, notice.NewOutbox(store, skewed(o, -20*day)), about(host.NoticeSlow, "shop", "young"), "4/")
		b := notice.NewOutbox(store, o)
		stop := running(t, b)
		synctest.Wait()
		stop()
		var left []string
		for _, g := range store.groups {
			left = append(left, fmt.Sprintf("%s of %s for %s", g.Kind, g.Workflow, g.Route))
		}
		slices.Sort(left)
		wantTold(t, "groups", left, "failure of yearly for all", "slow of young for all")
		if err := b.Succeeded(t.Context(), about("", "shop", "yearly").Attempt); err != nil {
			t.Fatal(err)
		}
		if list := store.all(); len(list) != 1 || list[0].Kind != host.NoticeRecovered {
			t.Errorf("stored %+v, want the recovery", list)
		}
	})
}

// locking records the order in which groups are locked.
type locking struct {
	*memory
	keys [][]string
}

func (l *locking) PutNotices(ctx context.Context, at time.Time, batches ...host.NoticeBatch) error {
	var keys []string
	for _, b := range batches {
		keys = append(keys, b.Group.Key)
	}
	l.keys = append(l.keys, keys)
	return l.memory.PutNotices(ctx, at, batches...)
}

func (l *locking) EndQuiet(ctx context.Context, groups []host.NoticeGroup, until time.Time, notices ...host.StoredNotice) error {
	var keys []string
	for _, g := range groups {
		keys = append(keys, g.Key)
	}
	l.keys = append(l.keys, keys)
	return l.memory.EndQuiet(ctx, groups, until, notices...)
}

// TestLockOrder proves that a failure and a recovery lock their groups in the same order: that of the stored names, in
// which a hyphen comes before the slash after the name of the route.
func TestLockOrder(t *testing.T) {
	t.Parallel()
	var w watched
	store := &locking{memory: newMemory()}
	b := notice.NewOutbox(store, rooms{"ops": {}}.options(&w, notice.Route{Name: "a", Channels: []string{"ops"}}, notice.Route{Name: "a-b", Channels: []string{"ops"}}))
	keep(t, b, about(host.NoticeFailure, "shop", "main"), "1/")
	if err := b.Succeeded(t.Context(), about("", "shop", "main").Attempt); err != nil {
		t.Fatal(err)
	}
	if len(store.keys) != 2 || len(store.keys[0]) != 2 || !slices.IsSorted(store.keys[0]) || !slices.Equal(store.keys[0], store.keys[1]) {
		t.Errorf("locked %q, want the same order twice", store.keys)
	}
}
