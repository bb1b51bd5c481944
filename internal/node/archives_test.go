package node_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"zerodag/internal/catalogue"
	"zerodag/internal/host"
	"zerodag/internal/node"
)

// archived returns the names of the revisions of project "p" that still have archives, oldest first.
func (w *world) archived() []string {
	w.t.Helper()
	list, err := w.db.Revisions(w.t.Context(), host.RevisionQuery{Project: 1})
	w.must(err)
	var names []string
	for _, r := range list {
		if w.blobs.has(r.Archive) {
			names = append([]string{r.Name}, names...)
		}
	}
	return names
}

// keeping keeps archives for a day and searches for old ones every hour.
func keeping(w *world, edit ...func(*node.Options)) func(*node.Options) {
	return func(o *node.Options) {
		o.Limits = host.Limits{KeepArchives: 24 * time.Hour, ReapInterval: 10 * time.Minute}
		o.Retention = w.db
		for _, e := range edit {
			e(o)
		}
	}
}

// revise pushes the workflow main as the newest revision.
func (p *process) revise(name string) host.Workflow {
	p.w.t.Helper()
	_, err := p.Push(p.w.t.Context(), catalogue.PushRequest{Project: "p", Revision: name}, archive("main.dig", "+a: {work>: "+name+"}\n"), 1)
	p.w.must(err)
	return p.workflow("main")
}

// of makes a request start the given workflow in any revision.
func of(w host.Workflow) func(*catalogue.StartRequest) {
	return func(r *catalogue.StartRequest) { r.Workflow = w.ID }
}

// TestForgetArchives proves that the archive of a revision is removed if the revision has long been replaced and no
// attempt names it, and that the archives of the newest revision, of attempts that are kept and of a recently replaced
// revision stay. A revision without its archive cannot be started, and the response explains why.
func TestForgetArchives(t *testing.T) {
	t.Parallel()
	for name, keep := range map[string]time.Duration{"kept for a day": 24 * time.Hour, "kept for ever": 0, "a negative time": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				p := w.serve(keeping(w, func(o *node.Options) { o.Limits.KeepArchives = keep }))
				p.revise("used")
				p.end(p.start(1))
				unused := p.revise("unused")
				p.revise("again")
				used := p.start(2)
				p.end(used)
				p.revise("lately")
				pass(40 * time.Hour)
				p.revise("newest")
				pass(4 * time.Hour)
				stay := []string{"used", "unused", "again", "lately", "newest"}
				if keep > 0 {
					stay = []string{"used", "again", "lately", "newest"}
				}
				want(t, "archives", w.archived(), stay)
				_, err := p.Start(w.t.Context(), catalogue.StartRequest{Workflow: unused.ID, SessionTime: time.Unix(3, 0)})
				if keep <= 0 {
					w.must(err)
					return
				}
				want(t, "code of a start without its archive", code(err), host.Missing)
				pass(30 * time.Hour)
				want(t, "archives a day later", w.archived(), []string{"used", "again", "newest"})
				p.end(p.start(used.SessionTime.Unix(), of(host.Workflow{ID: used.Workflow.ID}), func(r *catalogue.StartRequest) { r.RetryName = "again" }))
			})
		})
	}
}

// TestForgetArchivesOfForgotten proves that an archive is removed once the attempts that needed it are removed.
func TestForgetArchivesOfForgotten(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		p := w.serve(keeping(w, func(o *node.Options) { o.Limits.KeepAttempts = 72 * time.Hour }))
		now := time.Now().Unix()
		p.revise("r1")
		p.end(p.start(now))
		p.revise("r2")
		p.end(p.start(now + 1))
		pass(60 * time.Hour)
		want(t, "archives while the attempts are kept", w.archived(), []string{"r1", "r2"})
		pass(24 * time.Hour)
		want(t, "archives after that", w.archived(), []string{"r2"})
	})
}

// TestHeldArchives proves that an archive stays if an attempt that needs it starts shortly before the removal, whether
// its process reports the start or had checked earlier and the attempt becomes visible only later.
func TestHeldArchives(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		p := w.serve(keeping(w))
		told, unseen := p.revise("told"), p.revise("unseen")
		p.revise("gone")
		p.revise("newest")
		list := func() map[string]host.ArchiveState {
			list, err := w.db.Revisions(w.t.Context(), host.RevisionQuery{Project: 1})
			w.must(err)
			states := map[string]host.ArchiveState{}
			for _, r := range list {
				states[r.Name] = r.Kept
			}
			return states
		}
		for list()["told"].Going.IsZero() {
			pass(time.Minute)
		}
		p.end(p.start(1, of(told)))
		want(t, "it goes no more", list()["told"], host.ArchiveState{})
		a, err := w.db.Start(w.t.Context(), host.NewAttempt{Project: unseen.Project, Workflow: host.Ref{ID: unseen.ID, Name: "main"}, SessionTime: time.Unix(2, 0), CreatedAt: time.Now(),
			Zone: "UTC", WaitsFor: -1, First: host.Entry{Seq: 1, Nonce: "n", At: time.Now()}, Message: host.Message{ID: "x", Due: time.Now().Add(1000 * time.Hour)}})
		w.must(err)
		pass(5 * time.Hour)
		want(t, "archives", w.archived(), []string{"told", "unseen", "newest"})
		want(t, "is needed by", list()["unseen"].Needed, a[0].ID)
	})
}

// cutOff is a blob store that cannot delete while fails is set.
type cutOff struct {
	*blobs
	fails *atomic.Bool
}

func (b cutOff) Delete(ctx context.Context, key string) error {
	if b.fails.Load() {
		return errors.New("away")
	}
	return b.blobs.Delete(ctx, key)
}

// TestForgetArchivesCutOff proves that an archive is removed in a later round if the process or the store failed after
// the removal was recorded, and that no attempt starts with it in the meantime.
func TestForgetArchivesCutOff(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		var fails atomic.Bool
		fails.Store(true)
		p := w.serve(keeping(w, func(o *node.Options) { o.Blobs = cutOff{w.blobs, &fails} }))
		old := p.revise("old")
		p.revise("new")
		pass(30 * time.Hour)
		want(t, "archives while blobs cannot be deleted", w.archived(), []string{"old", "new"})
		_, err := p.Start(w.t.Context(), catalogue.StartRequest{Workflow: old.ID, SessionTime: time.Unix(1, 0)})
		want(t, "code of a start", code(err), host.Missing)
		fails.Store(false)
		pass(2 * time.Hour)
		want(t, "archives after that", w.archived(), []string{"new"})
	})
}

// slow lets a context end after some pages of attempts.
type slow struct {
	sessions
	pages int
	end   context.CancelFunc
	asked []int64
}

func (s *slow) Attempts(ctx context.Context, q host.AttemptQuery) ([]host.Attempt, error) {
	if s.pages--; s.pages < 0 {
		s.end()
		return nil, ctx.Err()
	}
	s.asked = append(s.asked, q.Before)
	return s.sessions.Attempts(ctx, q)
}

// TestForgetArchivesInParts proves that a round that is cut off while it reads attempts resumes there, and that
// attempts found then count.
func TestForgetArchivesInParts(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		o := w.options()
		keeping(w)(&o)
		s := &slow{sessions: w.db}
		o.Sessions = s
		n := node.New(o)
		p := &process{Node: n, w: w}
		needed := p.revise("needed")
		p.revise("unused")
		newest := p.revise("newest")
		const many = 450
		for i := range many {
			workflow := newest
			if i == 0 {
				workflow = needed
			}
			_, err := w.db.Start(w.t.Context(), host.NewAttempt{Project: workflow.Project, Workflow: host.Ref{ID: workflow.ID, Name: "main"}, SessionTime: time.Unix(int64(i), 0), CreatedAt: time.Now(),
				Zone: "UTC", WaitsFor: -1, First: host.Entry{Seq: 1, Nonce: "n", At: time.Now()}, Message: host.Message{ID: fmt.Sprint(i)}})
			w.must(err)
		}
		time.Sleep(30 * time.Hour)
		for range 3 { // as long as an invisible start may be in progress, nothing is judged
			s.pages = 0
			_, over, err := p.ForgetArchives(w.t.Context(), 0)
			w.must(err)
			want(t, "a look is over", over, true)
			time.Sleep(time.Minute)
		}
		time.Sleep(time.Hour)
		for round := range 4 {
			ctx, cancel := context.WithCancel(w.t.Context())
			s.pages, s.end = 1, cancel
			_, over, err := p.ForgetArchives(ctx, 0)
			cancel()
			w.must(err)
			want(t, fmt.Sprint("round ", round, " is over"), over, round >= 2)
			time.Sleep(time.Hour)
		}
		want(t, "read before", s.asked, []int64{0, 251, 51})
		want(t, "archives", w.archived(), []string{"needed", "newest"})
	})
}

// TestForgetArchivesReadsBack proves that attempts are read back to the time at which the revision was created, and
// further back for as long as archives are kept, because clocks may have been wrong.
func TestForgetArchivesReadsBack(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		o := w.options()
		keeping(w)(&o)
		s := &slow{sessions: w.db, pages: 100}
		o.Sessions = s
		p := &process{Node: node.New(o), w: w}
		session := int64(0)
		start := func(n int, workflow host.Workflow, at time.Time) {
			for range n {
				session++
				_, err := w.db.Start(w.t.Context(), host.NewAttempt{Project: workflow.Project, Workflow: host.Ref{ID: workflow.ID, Name: "main"}, SessionTime: time.Unix(session, 0), CreatedAt: at,
					Zone: "UTC", WaitsFor: -1, First: host.Entry{Seq: 1, Nonce: "n", At: at}, Message: host.Message{ID: fmt.Sprint(session)}})
				w.must(err)
			}
		}
		start(450, p.revise("first"), time.Now())
		time.Sleep(60 * time.Hour)
		needed := p.revise("needed")
		p.revise("unused")
		newest := p.revise("newest")
		start(1, needed, time.Now().Add(-20*time.Hour))
		start(210, newest, time.Now().Add(-20*time.Hour))
		time.Sleep(30 * time.Hour)
		for range 2 {
			_, _, err := p.ForgetArchives(w.t.Context(), 0)
			w.must(err)
			time.Sleep(2 * time.Hour)
		}
		want(t, "archives", w.archived(), []string{"first", "needed", "newest"})
		want(t, "read before", s.asked, []int64{0, 462, 262})
	})
}

// TestForgetRecords proves that entries of the audit log are removed when their retention ends.
func TestForgetRecords(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		p := w.serve(func(o *node.Options) {
			o.Limits = host.Limits{KeepRecords: 24 * time.Hour, ReapInterval: 10 * time.Minute}
			o.Retention = w.db
		})
		for i := range 1200 {
			w.must(w.db.Record(w.t.Context(), host.Record{At: time.Now(), Site: int64(i % 2), Who: "me", Action: "push"}))
		}
		pass(20 * time.Hour)
		w.must(w.db.Record(w.t.Context(), host.Record{At: time.Now(), Who: "me", Action: "delete"}))
		pass(6 * time.Hour)
		list, err := w.db.Audits(w.t.Context(), host.AuditQuery{Count: 10})
		w.must(err)
		if len(list) != 1 || list[0].Action != "delete" {
			t.Errorf("left are %+v", list)
		}
		other, err := w.db.Audits(w.t.Context(), host.AuditQuery{Site: 1, Count: 10})
		w.must(err)
		want(t, "left of the other site", len(other), 0)
		p.crash()
	})
}

// TestForgetLogs proves that task logs are removed some time after their attempt ends, once per attempt while the
// server runs, that the attempt stays, and that logs of running and recently ended attempts stay.
func TestForgetLogs(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("long", lasting(30*time.Hour))
		var mu sync.Mutex
		all := map[int64]int{}
		removed := func(a host.Attempt) int {
			mu.Lock()
			defer mu.Unlock()
			return all[a.ID]
		}
		p := w.serve(func(o *node.Options) {
			o.Limits = host.Limits{KeepLogs: 10 * time.Hour, ReapInterval: 10 * time.Minute, TaskTTL: 100 * time.Hour}
			o.Retention = w.db
			o.RemoveLogs = func(_ context.Context, list []host.Attempt) error {
				mu.Lock()
				defer mu.Unlock()
				for _, a := range list {
					all[a.ID]++
				}
				return nil
			}
		})
		p.push("main.dig", "+a: {work>: '${x}'}\n")
		with := func(x string) func(*catalogue.StartRequest) {
			return func(r *catalogue.StartRequest) { r.Params.Set("x", x) }
		}
		first := p.start(1, with("short"))
		pass(time.Second)
		long := p.start(2, with("long"))
		pass(time.Second)
		third := p.start(3, with("short"))
		pass(20 * time.Hour)
		want(t, "logs of the first were removed", removed(first), 1)
		want(t, "those of one that runs", removed(long), 0)
		if removed(third) == 0 {
			t.Error("logs behind an attempt that runs have stayed")
		}
		_, _, err := p.LogFile(w.t.Context(), p.row(first), "main@x.log.gz")
		want(t, "code of a log that was removed", code(err), host.Missing)
		_, _, err = p.LogFile(w.t.Context(), p.row(long), "main@x.log.gz")
		want(t, "code of a log that never was", code(err), host.Code(0))
		pass(15 * time.Hour)
		want(t, "removed soon after the end", removed(long), 0)
		pass(10 * time.Hour)
		want(t, "removed later", removed(long), 1)
		pass(10 * time.Hour)
		want(t, "looked at again", removed(long)+removed(first), 2)
		want(t, "attempts that are kept", p.row(first).Done, true)
	})
}

// slowStarts delays the rows of new attempts until some time after all checks, while a process lives.
type slowStarts struct {
	host.Attempts
	wait func() time.Duration
}

func (s slowStarts) Start(ctx context.Context, list ...host.NewAttempt) ([]host.Attempt, error) {
	time.Sleep(s.wait())
	return s.Attempts.Start(ctx, list...)
}

// slowReads is a store of sessions that takes a long time to read attempts.
type slowReads struct {
	sessions
	wait func() time.Duration
}

func (s slowReads) Attempts(ctx context.Context, q host.AttemptQuery) ([]host.Attempt, error) {
	list, err := s.sessions.Attempts(ctx, q)
	time.Sleep(s.wait())
	return list, err
}

// TestArchivesAndStarts proves that no attempt is ever without its archive, no matter how starts of old revisions,
// pushes, and several processes' sweeps for old data coincide: a start is refused or has its archive.
func TestArchivesAndStarts(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				chance := rand.New(rand.NewPCG(seed, 1))
				var mu sync.Mutex
				upTo := func(d time.Duration) time.Duration {
					mu.Lock()
					defer mu.Unlock()
					return time.Duration(chance.Int64N(int64(d)))
				}
				o := w.options()
				keeping(w)(&o)
				o.Limits = host.Limits{KeepArchives: time.Hour, KeepAttempts: 24 * time.Hour, ProcessTime: 15 * time.Minute, Attempts: 1000}
				o.Attempts = slowStarts{o.Attempts, func() time.Duration { return upTo(15 * time.Minute) }}
				o.Sessions = slowReads{o.Sessions, func() time.Duration { return upTo(10 * time.Minute) }}
				p := &process{Node: node.New(o), w: w}
				var pushed []host.Workflow
				var started, refused int
				var all sync.WaitGroup
				for i := range 60 {
					pushed = append(pushed, p.revise(fmt.Sprint("r", i)))
					for range 2 {
						all.Go(func() {
							time.Sleep(upTo(40 * time.Minute))
							_, _, err := p.ForgetArchives(w.t.Context(), 0)
							w.must(err)
						})
					}
					which := pushed[max(0, i-int(upTo(12)))]
					all.Go(func() {
						time.Sleep(upTo(40 * time.Minute))
						a, err := p.Start(w.t.Context(), catalogue.StartRequest{Workflow: which.ID, SessionTime: time.Unix(int64(i), 0)})
						mu.Lock()
						defer mu.Unlock()
						if code(err) == host.Missing {
							refused++
							return
						}
						w.must(err)
						started++
						if !w.blobs.has(which.Archive) {
							t.Errorf("attempt %d began without the archive of revision %s", a.ID, which.Revision.Name)
						}
					})
					time.Sleep(30 * time.Minute)
				}
				all.Wait()
				list, err := w.db.Attempts(w.t.Context(), host.AttemptQuery{Retried: true})
				w.must(err)
				for _, a := range list {
					d, err := w.db.Workflow(w.t.Context(), 0, a.Workflow.ID)
					w.must(err)
					if !w.blobs.has(d.Archive) {
						t.Errorf("attempt %d is without the archive of revision %s", a.ID, d.Revision.Name)
					}
				}
				t.Logf("%d began, %d were refused, %d of %d archives are there", started, refused, len(w.archived()), len(pushed))
				if started == 0 || len(w.archived()) == len(pushed) {
					t.Errorf("%d began, %d archives are there", started, len(w.archived()))
				}
			})
		})
	}
}

// slowRows is a store of attempts in which each read takes some time, and some attempts cannot be read.
type slowRows struct {
	host.Attempts
	breaks int64
}

func (s slowRows) Attempt(ctx context.Context, site, id int64) (host.Attempt, error) {
	select {
	case <-time.After(100 * time.Millisecond):
	case <-ctx.Done():
		return host.Attempt{}, ctx.Err()
	}
	if id == s.breaks {
		return host.Attempt{}, host.ErrUnavailable
	}
	return s.Attempts.Attempt(ctx, site, id)
}

// TestForgetArchivesOfMany proves that a sweep reaches the end of a project with many revisions that attempts need,
// within the time of a tick, and that a revision whose attempt cannot be read does not keep the archive of another.
func TestForgetArchivesOfMany(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		o := w.options()
		keeping(w)(&o)
		o.Limits.Looks = 16
		slow := &slowRows{Attempts: w.db}
		o.Attempts = slow
		p := &process{Node: node.New(o), w: w}
		const needed = 40
		var stay []string
		for i := range needed {
			workflow := p.revise(fmt.Sprint("r", i))
			a, err := w.db.Start(w.t.Context(), host.NewAttempt{Project: workflow.Project, Workflow: host.Ref{ID: workflow.ID, Name: "main"}, SessionTime: time.Unix(int64(i), 0), CreatedAt: time.Now(),
				Zone: "UTC", WaitsFor: -1, First: host.Entry{Seq: 1, Nonce: "n", At: time.Now()}, Message: host.Message{ID: fmt.Sprint(i)}})
			w.must(err)
			slow.breaks = a[0].ID
			stay = append(stay, workflow.Revision.Name)
		}
		p.revise("newest")
		round := func(limit time.Duration) (bool, error) {
			ctx, cancel := context.WithTimeout(w.t.Context(), limit)
			defer cancel()
			_, over, err := p.ForgetArchives(ctx, 0)
			time.Sleep(time.Hour)
			return over, err
		}
		time.Sleep(30 * time.Hour)
		for range 2 { // they are marked for removal, then found to be needed
			over, err := round(time.Minute)
			w.must(err)
			want(t, "a first look is over", over, true)
		}
		p.revise("later")
		time.Sleep(30 * time.Hour) // so that the previously newest one is old and unused
		for range 2 {
			over, err := round(time.Second)
			want(t, "a look at many is over", over, true)
			if !errors.Is(err, host.ErrUnavailable) {
				t.Errorf("error is %v", err)
			}
		}
		want(t, "archives", w.archived(), append(stay, "later"))
	})
}

// slowDefinitions is a store of workflows in which each read takes some time.
type slowDefinitions struct{ definitions }

type definitions host.Workflows

func (s slowDefinitions) Workflows(ctx context.Context, q host.WorkflowQuery) ([]host.Workflow, error) {
	select {
	case <-time.After(100 * time.Millisecond):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return s.definitions.Workflows(ctx, q)
}

// TestForgetManyArchives proves that a project that collected many archives before their retention was limited loses
// them, in rounds within the time of a tick.
func TestForgetManyArchives(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		o := w.options()
		keeping(w)(&o)
		o.Limits.Looks = 16
		o.Workflows = slowDefinitions{w.db}
		p := &process{Node: node.New(o), w: w}
		for i := range 40 {
			_, err := p.Push(w.t.Context(), catalogue.PushRequest{Project: "p", Revision: fmt.Sprint("r", i)}, archive("main.dig", "+a: {echo>: a}\n"), 1)
			w.must(err)
		}
		time.Sleep(30 * time.Hour)
		for range 2 {
			ctx, cancel := context.WithTimeout(w.t.Context(), time.Second)
			_, over, err := p.ForgetArchives(ctx, 0)
			cancel()
			w.must(err)
			want(t, "a look is over", over, true)
			time.Sleep(time.Hour)
		}
		want(t, "archives", w.archived(), []string{"r39"})
	})
}
