package sqlite

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/internal/host"
)

// pushed creates a project with a workflow to start.
func pushed(t testing.TB, db *DB) host.Workflow {
	t.Helper()
	ctx := t.Context()
	p, err := db.Push(ctx, host.Push{Site: 1, Project: "demo", Revision: host.Revision{Name: "r1", CreatedAt: db.now()},
		Workflows: []dig.Workflow{{Name: "main", Zone: "UTC", Config: param.New("+a", param.New("echo>", "hello"))}}})
	if err != nil {
		t.Fatal(err)
	}
	list, err := db.Workflows(ctx, host.WorkflowQuery{Site: 1, Revision: p.Latest.ID})
	if err != nil {
		t.Fatal(err)
	}
	return list[0]
}

func attemptOf(w host.Workflow, at time.Time) host.NewAttempt {
	return host.NewAttempt{Site: 1, Project: w.Project, Workflow: host.Ref{ID: w.ID, Name: w.Name}, SessionTime: at, Zone: "UTC",
		CreatedAt: at, WaitsFor: -1, First: host.Entry{Seq: 1, Nonce: "n", At: at, Changes: make([]byte, 200)}, Message: host.Message{ID: "start", Body: []byte("{}")}}
}

func started(t testing.TB, db *DB, n int) []int64 {
	t.Helper()
	w := pushed(t, db)
	var ids []int64
	for i := range n {
		list, err := db.Start(t.Context(), attemptOf(w, time.Unix(int64(i), 0)))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, list[0].ID)
	}
	return ids
}

func BenchmarkAppend(b *testing.B) {
	db := open(b, Options{Path: fileOf(b)})
	id := started(b, db, 1)[0]
	e := host.Entry{Seq: 1, Nonce: "abcdefgh", Changes: make([]byte, 300), Events: make([]byte, 200)}
	for b.Loop() {
		e.Seq++
		if err := db.Append(b.Context(), id, e); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendFrom64(b *testing.B) {
	for _, sync := range []host.Sync{host.SyncAcknowledged, host.SyncAll} {
		b.Run(fmt.Sprint("sync=", sync), func(b *testing.B) {
			db := open(b, Options{Path: fileOf(b), Sync: sync})
			ids := started(b, db, 64)
			var next atomic.Int64
			b.SetParallelism(32) // on two processors
			b.RunParallel(func(p *testing.PB) {
				id := ids[(next.Add(1)-1)%64]
				e := host.Entry{Seq: 1, Nonce: "abcdefgh", Changes: make([]byte, 300), Events: make([]byte, 200)}
				for p.Next() {
					e.Seq++
					if err := db.Append(b.Context(), id, e); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	db := open(b, Options{Path: fileOf(b)})
	id := started(b, db, 1)[0]
	for seq := range int64(20) {
		if err := db.Append(b.Context(), id, host.Entry{Seq: seq + 2, Changes: make([]byte, 300)}); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, err := db.Load(b.Context(), id); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStart(b *testing.B) {
	for _, sync := range []host.Sync{host.SyncNone, host.SyncAcknowledged} {
		b.Run(fmt.Sprint("sync=", sync), func(b *testing.B) {
			db := open(b, Options{Path: fileOf(b), Sync: sync})
			w := pushed(b, db)
			for i := 0; b.Loop(); i++ {
				if _, err := db.Start(b.Context(), attemptOf(w, time.Unix(int64(i), 0))); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSendReceiveDelete(b *testing.B) {
	db := open(b, Options{Path: fileOf(b)})
	q := db.Queue("tasks")
	for i := 0; b.Loop(); i++ {
		if err := q.Send(b.Context(), host.Message{ID: fmt.Sprint(i), Body: make([]byte, 200)}); err != nil {
			b.Fatal(err)
		}
		list, err := q.Receive(b.Context(), 1, time.Minute)
		if err != nil {
			b.Fatal(err)
		}
		if err := q.Delete(b.Context(), list[0]); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBegin measures what a run costs before it begins: a check for a kill, and a note for a run that takes longer
// or is repeated. The baseline is a read of the attempt's row.
func BenchmarkBegin(b *testing.B) {
	db := open(b, Options{Path: fileOf(b)})
	id := started(b, db, 1)[0]
	q := db.Queue("tasks")
	if err := q.Send(b.Context(), host.Message{ID: host.MessageID(id, "1.1")}); err != nil {
		b.Fatal(err)
	}
	list, err := q.Receive(b.Context(), 1, time.Hour)
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"", "1.1"} {
		b.Run(map[bool]string{true: "look", false: "note"}[name == ""], func(b *testing.B) {
			for b.Loop() {
				if _, err := q.Begin(b.Context(), list[0], name, host.Entry{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("row", func(b *testing.B) {
		for b.Loop() {
			if _, err := db.Attempt(b.Context(), host.AnySite, id); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkStartFrom64(b *testing.B) {
	db := open(b, Options{Path: fileOf(b)})
	w := pushed(b, db)
	var next atomic.Int64
	b.SetParallelism(32) // on two processors
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := db.Start(b.Context(), attemptOf(w, time.Unix(next.Add(1), 0))); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
