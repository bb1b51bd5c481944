package postgres

import (
	"fmt"
	"testing"
	"time"

	"zerodag/internal/host"
	"zerodag/operators/operatortest/postgres"
)

// BenchmarkEntries shows the cost of an append that checks what its writer relies on, and what a run costs before it
// begins: a check for a kill and for changes that a failover may have lost, and a note for a run that takes longer or
// is repeated. The baselines are an append without checks and a read of the attempt's row.
func BenchmarkEntries(b *testing.B) {
	l := &lab{Server: postgres.StartKeeping(b), room: make(chan struct{}, 1)}
	db := open(b, l.options())
	a := setScene(b, db).start(b, db)
	q := db.Queue("tasks")
	if err := q.Send(b.Context(), host.Message{ID: host.MessageID(a.ID, "1.1")}); err != nil {
		b.Fatal(err)
	}
	list, err := q.Receive(b.Context(), 1, time.Hour)
	if err != nil {
		b.Fatal(err)
	}
	e := host.Entry{Seq: 1, Nonce: "first", At: at(0), Changes: make([]byte, 300), Events: make([]byte, 200)}
	for _, checked := range []bool{false, true} {
		b.Run(fmt.Sprintf("append, checked: %v", checked), func(b *testing.B) {
			for b.Loop() {
				e.Basis = host.Basis{}
				if checked {
					e.Basis = host.Basis{After: e.Nonce, Receipt: list[0].Receipt}
				}
				e.Seq++
				e.Nonce = fmt.Sprint("n", e.Seq)
				if err := db.Append(b.Context(), a.ID, e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	for _, name := range []string{"", "1.1"} {
		b.Run(map[bool]string{true: "look", false: "note"}[name == ""], func(b *testing.B) {
			for b.Loop() {
				if _, err := q.Begin(b.Context(), list[0], name, e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("row", func(b *testing.B) {
		for b.Loop() {
			if _, err := db.Attempt(b.Context(), host.AnySite, a.ID); err != nil {
				b.Fatal(err)
			}
		}
	})
}
