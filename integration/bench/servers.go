package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"zerodag/integration/server"
)

// servers compares servers that share a PostgreSQL database with one that has a file. Without a database in the
// environment (server.Variable) it is not run: `make bench` starts one.
func (b *bench) servers() error {
	if os.Getenv(server.Variable) == "" {
		fmt.Printf("\nNOT RUN: several servers: %s names no database\n", server.Variable)
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
	return nil
}

// several measures n servers on one database; 0 is one with a file.
func (b *bench) several(name string, n int) error {
	options := server.Sharing()
	var s *running
	for i := range max(1, n) {
		folder, place := filepath.Join(b.dir, fmt.Sprintf("servers%d-%d", n, i)), []string(nil)
		if n > 0 {
			place = append(place, options...)
			place = append(place, "-X", "server.folder="+folder)
		}
		next, _, err := b.serve(folder, place...)
		if err != nil {
			return err
		}
		if s == nil {
			s = next
			defer s.stop() // and those beside it
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

// commits is how many transactions the database has made, about.
func commits() (n int64, err error) {
	ctx := context.Background()
	url, _ := server.Database()
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		return 0, err
	}
	defer c.Close(ctx)
	time.Sleep(1100 * time.Millisecond) // connections report after a second
	err = c.QueryRow(ctx, "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()").Scan(&n)
	return n, err
}
