package postgres

import (
	"context"
	"testing"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/host/hosttest"
	"zerodag/internal/host/hosttest/suite"
	"zerodag/operators/operatortest/postgres"
)

// testPooler proves that a server works through a transaction pooler: the suites of all ports pass although PostgreSQL
// connections change and forget everything between two transactions.
func testPooler(t *testing.T, l *lab) {
	port := postgres.Pooler(t, l.Port)
	t.Run("contract", func(t *testing.T) {
		hosttest.Exercise(t, hosttest.Driver{Absent: absent(), Stores: func(t *testing.T, run func(*testing.T, suite.Stores)) {
			l.enter(t)
			o, p := l.options(), newProxy(t, port)
			o.URL = l.url(p.port())
			run(t, reopened(t, o, p))
		}})
	})
	t.Run("wake", func(t *testing.T) { testPooledWake(t, l, port) })
	t.Run("schema", func(t *testing.T) { testPooledSchema(t, l, port) })
}

// testPooledWake proves that messages are received soon although a pooler forwards no notifications: at once by the
// server that sends them, and after a short while by others.
func testPooledWake(t *testing.T, l *lab, port int) {
	l.enter(t)
	o := l.options()
	o.URL = l.url(port)
	first, second := open(t, o), open(t, o)
	if !first.pooled.Load() {
		t.Fatal("the pooler was not noticed")
	}
	for id, receiver := range map[string]*DB{"own": first, "other": second} {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		got := make(chan error, 1)
		go func() {
			list, err := receiver.Queue("tasks").Receive(ctx, 1, time.Hour)
			if err == nil {
				err = receiver.Queue("tasks").Delete(ctx, list[0])
			}
			got <- err
		}()
		if err := first.Queue("tasks").Send(ctx, host.Message{ID: id}); err != nil {
			t.Error(err)
		}
		if err := <-got; err != nil {
			t.Errorf("message for the %s server: %v", id, err)
		}
		cancel()
	}
	if list := l.Rows(t, "SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN %"+first.channel+"%'"); len(list) > 0 {
		t.Errorf("processes %v of PostgreSQL listen for a client of the pooler", list)
	}
}

// testPooledSchema proves that all tables are in the schema of the server, and none in public.
func testPooledSchema(t *testing.T, l *lab, port int) {
	l.enter(t)
	o := l.options()
	o.URL = l.url(port)
	db := open(t, o)
	setScene(t, db).start(t, db)
	in := func(schema string) []string {
		return l.Rows(t, "SELECT tablename FROM pg_tables WHERE schemaname = '"+schema+"'")
	}
	if own := in(o.Schema); len(own) < 20 {
		t.Errorf("the schema has only the tables %v", own)
	}
	for _, name := range in("public") {
		if name != "projects" && name != "schema_migrations" { // testBeside creates these
			t.Errorf("there is a table public.%s", name)
		}
	}
}
