// Package postgres starts a real PostgreSQL server for a test: in a temporary folder, on 127.0.0.1, as an unprivileged
// user, without durability. It must only be imported by tests.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"zerodag/operators/operatortest/daemon"
)

// Accounts of every server. Careful has the password Password; User needs none.
const (
	User     = "digdag"
	Careful  = "careful"
	Password = "open sesame"
	Database = "target"
)

// Server is a running server.
type Server struct {
	Port int

	programs, data string
	who            *syscall.SysProcAttr
	settings       []string
}

// Start starts a server that ends with the test. Without the programs for it, the test is skipped, or fails if REQUIRE
// names peers.
func Start(t testing.TB) Server {
	t.Helper()
	return start(t, "synchronous_commit=off", "max_connections=60")
}

// StartKeeping is Start for a server that keeps committed data if it is killed: see Restart. It accepts many
// connections.
func StartKeeping(t testing.TB) Server {
	t.Helper()
	return start(t, "synchronous_commit=on", "max_connections=200")
}

func start(t testing.TB, settings ...string) Server {
	t.Helper()
	programs, err := find()
	if err != nil {
		daemon.Skip(t, err)
	}
	data, who := daemon.Folder(t, "postgres", "postgres")
	initdb := exec.Command(filepath.Join(programs, "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "-N")
	initdb.SysProcAttr, initdb.Dir = who, data
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", initdb.Args, err, out)
	}
	configure(t, data, who)
	s := Server{Port: daemon.FreePort(t), programs: programs, data: data, who: who, settings: settings}
	s.run(t)
	s.fill(t)
	return s
}

// Standby starts a copy of the server that follows it. If synchronous, the server acknowledges no commit that the copy
// does not have.
func (s Server) Standby(t testing.TB, synchronous bool) Server {
	t.Helper()
	copied := s
	copied.data, copied.who = daemon.Folder(t, "postgres", "postgres")
	copied.Port = daemon.FreePort(t)
	backup := exec.Command(filepath.Join(s.programs, "pg_basebackup"), "-h", "127.0.0.1", "-p", strconv.Itoa(s.Port), "-U", User, "-D", copied.data, "-R", "-c", "fast", "--no-sync")
	backup.SysProcAttr, backup.Dir = copied.who, copied.data
	if out, err := backup.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", backup.Args, err, out)
	}
	copied.run(t)
	if synchronous {
		s.Rows(t, "ALTER SYSTEM SET synchronous_standby_names = '*'")
		s.Rows(t, "SELECT pg_reload_conf()")
	}
	state := "async"
	if synchronous {
		state = "sync"
	}
	s.await(t, "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = '"+state+"'")
	return copied
}

// await waits until a query finds a row.
func (s Server) await(t testing.TB, sql string) {
	t.Helper()
	for begin := time.Now(); len(s.Rows(t, sql)) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatalf("no matching row: %s", sql)
		}
	}
}

// CatchUp waits until a standby has replayed every commit of the server.
func (s Server) CatchUp(t testing.TB) {
	t.Helper()
	s.await(t, "SELECT 1 FROM pg_stat_replication WHERE replay_lsn >= '"+s.Rows(t, "SELECT pg_current_wal_lsn()")[0]+"'")
}

// Promote makes a standby accept writes.
func (s Server) Promote(t testing.TB) {
	t.Helper()
	s.Rows(t, "SELECT pg_promote(false)") // waiting would block its own recovery
	s.await(t, "SELECT 1 WHERE NOT pg_is_in_recovery()")
}

// Restart kills the server, as in a crash, and starts it again. It returns once the server responds.
func (s Server) Restart(t testing.TB) {
	t.Helper()
	s.Stop(t)
	s.Resume(t)
}

// Stop kills the server, as in a crash: without a checkpoint, so that the next start begins with recovery.
func (s Server) Stop(t testing.TB) {
	t.Helper()
	file := filepath.Join(s.data, "postmaster.pid")
	if err := syscall.Kill(s.pid(t), syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return
		}
		if time.Since(begin) > time.Minute {
			t.Fatal("the database did not stop")
		}
	}
}

// Resume starts the server again after Stop. It returns once the server responds.
func (s Server) Resume(t testing.TB) {
	t.Helper()
	s.run(t)
}

// Freeze suspends the server, with all its connections, until the result is called.
func (s Server) Freeze(t testing.TB) (thaw func()) {
	t.Helper()
	pid := s.pid(t)
	signal := func(n syscall.Signal) {
		out, _ := exec.Command("pgrep", "-P", strconv.Itoa(pid)).Output() // it fails if there are no children
		for _, child := range append(strings.Fields(string(out)), strconv.Itoa(pid)) {
			if n2, err := strconv.Atoi(child); err == nil {
				syscall.Kill(n2, n)
			}
		}
	}
	syscall.Kill(pid, syscall.SIGSTOP) // no new children from now on
	signal(syscall.SIGSTOP)
	return func() { signal(syscall.SIGCONT) }
}

// pid returns the process id of the server's first process.
func (s Server) pid(t testing.TB) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.data, "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// Missing returns what Start needs but this machine lacks, nil if nothing.
func Missing() error {
	_, err := find()
	return err
}

// find returns the folder with the newest server's programs, or the folder that ZERODAG_POSTGRES names.
func find() (string, error) {
	if folder := os.Getenv("ZERODAG_POSTGRES"); folder != "" {
		return folder, nil
	}
	folders, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is valid
	slices.SortFunc(folders, func(a, b string) int { return version(b) - version(a) })
	if path, err := exec.LookPath("initdb"); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			folders = append(folders, filepath.Dir(real))
		}
	}
	for _, folder := range folders {
		if _, err := os.Stat(filepath.Join(folder, "initdb")); err == nil {
			return folder, nil
		}
	}
	return "", fmt.Errorf("no PostgreSQL server is installed: install it (apt-get install postgresql, or `make tools` as root)")
}

func version(folder string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(folder))) // folders that are not numbers come last
	return n
}

// configure writes the rules for logins.
func configure(t testing.TB, data string, who *syscall.SysProcAttr) {
	t.Helper()
	certificate, key := daemon.Certificate(t)
	for name, content := range map[string]string{
		"pg_hba.conf": "host all " + Careful + " 127.0.0.1/32 scram-sha-256\nhostnossl all encrypted 127.0.0.1/32 reject\n" +
			"host all all 127.0.0.1/32 trust\nhost replication " + User + " 127.0.0.1/32 trust\n",
		"server.crt": certificate, "server.key": key,
	} {
		daemon.Write(t, filepath.Join(data, name), content, who)
	}
}

func (s Server) run(t testing.TB) {
	t.Helper()
	args := []string{"-D", s.data, "-p", strconv.Itoa(s.Port)}
	for _, setting := range append([]string{
		"listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", "full_page_writes=off",
		"shared_buffers=16MB", "ssl=on", "password_encryption=scram-sha-256",
	}, s.settings...) {
		args = append(args, "-c", setting)
	}
	daemon.Run(t, s.data, s.who, "INT", func() error {
		conn, err := s.connect(t.Context(), "postgres", "postgres")
		if err == nil {
			conn.Close(t.Context())
		}
		return err
	}, filepath.Join(s.programs, "postgres"), args...)
}

// fill creates users and the database.
func (s Server) fill(t testing.TB) {
	t.Helper()
	conn, err := s.connect(t.Context(), "postgres", "postgres")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, sql := range []string{
		"CREATE ROLE " + User + " LOGIN SUPERUSER", "CREATE ROLE " + Careful + " LOGIN PASSWORD '" + Password + "'",
		"CREATE ROLE encrypted LOGIN", "CREATE DATABASE " + Database + " OWNER " + User,
	} {
		if _, err := conn.Exec(t.Context(), sql).ReadAll(); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

func (s Server) connect(ctx context.Context, user, database string) (*pgconn.PgConn, error) {
	return pgconn.Connect(ctx, fmt.Sprintf("host=127.0.0.1 port=%d user=%s dbname=%s sslmode=disable connect_timeout=5", s.Port, user, database))
}

// Rows executes SQL as User and returns the rows of its last statement, their values separated by spaces.
func (s Server) Rows(t testing.TB, sql string) []string {
	t.Helper()
	conn, err := s.connect(t.Context(), User, Database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	results, err := conn.Exec(t.Context(), sql).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	rows := []string{}
	for _, row := range results[len(results)-1].Rows {
		var values []string
		for _, v := range row {
			values = append(values, string(v))
		}
		rows = append(rows, strings.Join(values, " "))
	}
	return rows
}
