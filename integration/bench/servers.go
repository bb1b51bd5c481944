package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"zerodag/integration/server"
	"zerodag/internal/host"
	"zerodag/internal/postgres"
	"zerodag/internal/shared"
)

// servers compares servers that share a PostgreSQL database with a server that uses a file. It is skipped without a
// database in the environment (server.Variable): `make bench` starts one.
func (b *bench) servers() error {
	place, found := server.Found()
	if !found {
		fmt.Printf("\nNOT RUN: several servers: %s is not set to a database\n", server.Variable)
		return nil
	}
	fmt.Printf("\n%-46s %12s %10s\n", "servers on PostgreSQL, from request to done", "here", "memory")
	for _, c := range []struct {
		name string
		n    int
	}{{"SQLite, one server", 0}, {"PostgreSQL, one server", 1}, {"PostgreSQL, two servers", 2}, {"PostgreSQL, three servers", 3}} {
		if err := b.several(c.name, c.n); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return b.sharedLists(place)
}

// sharedLists measures lists and queues in a database with many rows.
func (b *bench) sharedLists(place server.Place) error {
	ctx := context.Background()
	s, err := shared.Open(ctx, shared.Options{Database: postgres.Options{URL: place.URL(), Schema: place.Schema, Migrate: true, Connections: 34}})
	if err != nil {
		return err
	}
	due := time.Now().UTC().Truncate(time.Second)
	err = filled(s.Store, due)
	if err == nil {
		err = b.takes(ctx, s.Store.Queue("tasks"))
	}
	if err = errors.Join(err, s.Store.Close()); err != nil {
		return err
	}
	folder := filepath.Join(b.dir, "shared")
	return b.listsOf(folder, append(place.Options(), "-X", "server.folder="+folder)...)
}

// takes measures the time to receive one of many messages, next to 100,000 attempts.
func (b *bench) takes(ctx context.Context, q host.Queue) error {
	const messages = 1000
	for i := range messages {
		if err := q.Send(ctx, host.Message{ID: fmt.Sprint("m", i), Body: []byte("{}")}); err != nil {
			return err
		}
	}
	took, err := median(messages/2, func() error {
		_, err := q.Receive(ctx, 1, time.Minute)
		return err
	})
	b.row("PostgreSQL: take a message of a queue of 1,000", figure{took, 0}, [2]string{}, "under 5 ms")
	for err == nil { // the next server has other work
		var list []host.Delivery
		short, stop := context.WithTimeout(ctx, 100*time.Millisecond)
		list, err = q.Receive(short, messages, time.Minute)
		stop()
		for _, d := range list {
			if err := q.Delete(ctx, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// several measures n servers on one database; 0 means one server with a file.
func (b *bench) several(name string, n int) error {
	place, _ := server.Found()
	var s *running
	for i := range max(1, n) {
		folder, options := filepath.Join(b.dir, fmt.Sprintf("servers%d-%d", n, i)), []string(nil)
		if n > 0 {
			options = append(place.Options(), "-X", "server.folder="+folder)
		}
		next, _, err := b.serve(folder, options...)
		if err != nil {
			return err
		}
		if s == nil {
			s = next
			defer s.stop() // and the other servers
		} else {
			s.beside = append(s.beside, next)
		}
	}
	if err := s.push("bench", map[string]string{"one": repeated(1, "echo>: hi", false), "chain50": repeated(50, "echo>: hi", false), "sh20": repeated(20, "sh>: 'true'", false)}); err != nil {
		return err
	}
	one := func(workflow string) func() error {
		return func() error {
			id, err := s.start(workflow)
			return cmp.Or(err, s.wait(id))
		}
	}
	for _, w := range []struct {
		what string
		runs int
		f    func() error
	}{{"one echo>", 11, one("one")}, {"chain of 50 echo>", 7, one("chain50")}, {"chain of 20 sh>: true", 3, one("sh20")}} {
		took, err := median(w.runs, w.f)
		if err != nil {
			return err
		}
		b.row(name+": "+w.what, figure{took, s.memory()}, [2]string{}, "")
	}
	const many = 500
	before, err := commits()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := s.many(many, 20, "one"); err != nil {
		return err
	}
	took := time.Since(began)
	after, err := commits()
	b.row(fmt.Sprintf("%s: %d attempts of one echo>", name, many), figure{took, s.memory()}, [2]string{}, "")
	fmt.Printf("%-46s %9.0f a second, %.1f transactions each\n", "", many/took.Seconds(), float64(after-before)/many)
	return err
}

// commits returns approximately how many transactions the database has made.
func commits() (n int64, err error) {
	ctx := context.Background()
	place, found := server.Found()
	if !found {
		return 0, nil
	}
	c, err := pgx.Connect(ctx, place.URL())
	if err != nil {
		return 0, err
	}
	defer c.Close(ctx)
	time.Sleep(1100 * time.Millisecond) // connections report after a second
	err = c.QueryRow(ctx, "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()").Scan(&n)
	return n, err
}
