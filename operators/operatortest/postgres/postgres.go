// Package postgres starts a real PostgreSQL server for a test: in a temporary folder, on
// 127.0.0.1, as an unprivileged user, with nothing kept that a crash could lose. It must
// only be imported by tests.
package postgres

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// What every server has. Careful has the password Password; User needs none.
const (
	User     = "digdag"
	Careful  = "careful"
	Password = "open sesame"
	Database = "target"
)

// Server is a running server.
type Server struct{ Port int }

// Start starts a server that ends with the test. Without the programs for it the test is
// skipped, or fails where REQUIRE names peers.
func Start(t testing.TB) Server {
	t.Helper()
	programs, err := find()
	if err != nil {
		if strings.Contains(os.Getenv("REQUIRE"), "peers") {
			t.Fatal(err)
		}
		t.Skipf("NOT TESTED: %v", err)
	}
	data, err := os.MkdirTemp("", "zerodag-postgres-") // t.TempDir is closed to the user it runs as
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(data) })
	who := nobody(t, data)
	initdb := exec.Command(filepath.Join(programs, "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "-N")
	initdb.SysProcAttr, initdb.Dir = who, data
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", initdb.Args, err, out)
	}
	configure(t, data, who)
	s := Server{Port: freePort(t)}
	s.run(t, filepath.Join(programs, "postgres"), data, who)
	s.fill(t)
	return s
}

// Missing says what Start misses on this machine, nil for nothing.
func Missing() error {
	_, err := find()
	return err
}

// find returns the folder of the newest server's programs.
func find() (string, error) {
	folders, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is a good one
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
	return "", fmt.Errorf("no PostgreSQL server is on this machine: install it (apt-get install postgresql, or `make tools` as root)")
}

func version(folder string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(folder))) // what is no number comes last
	return n
}

// nobody gives data to a user without rights, for the server refuses to run as root; nil
// where the test is such a user itself.
func nobody(t testing.TB, data string) *syscall.SysProcAttr {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ := strconv.Atoi(u.Uid) // always numbers where there are users like these
		gid, _ := strconv.Atoi(u.Gid)
		if err := os.Chown(data, uid, gid); err != nil {
			t.Fatal(err)
		}
		return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
	t.Fatal("PostgreSQL does not run as root, and there is neither a user postgres nor nobody")
	return nil
}

// configure writes who may enter and how.
func configure(t testing.TB, data string, who *syscall.SysProcAttr) {
	t.Helper()
	certificate, key := certificate(t)
	for name, content := range map[string]string{
		"pg_hba.conf": "host all " + Careful + " 127.0.0.1/32 scram-sha-256\nhostnossl all encrypted 127.0.0.1/32 reject\n" +
			"host all all 127.0.0.1/32 trust\n",
		"server.crt": certificate, "server.key": key,
	} {
		path := filepath.Join(data, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if who != nil {
			if err := os.Chown(path, int(who.Credential.Uid), int(who.Credential.Gid)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// certificate makes one that no client has reason to trust.
func certificate(t testing.TB) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
	signed, err := x509.CreateCertificate(rand.Reader, form, form, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// guard runs a server until its own standard input ends: with the test, however that ends.
const guard = `"$@" >"$LOG" 2>&1 & server=$!; read -r _; kill -INT $server; wait $server`

func (s Server) run(t testing.TB, program, data string, who *syscall.SysProcAttr) {
	t.Helper()
	args := []string{"-c", guard, "sh", program, "-D", data, "-p", strconv.Itoa(s.Port)}
	for _, setting := range []string{
		"listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", "synchronous_commit=off", "full_page_writes=off",
		"shared_buffers=16MB", "max_connections=60", "ssl=on", "password_encryption=scram-sha-256",
	} {
		args = append(args, "-c", setting)
	}
	server := exec.Command("sh", args...)
	server.SysProcAttr, server.Dir = who, data
	server.Env = append(os.Environ(), "LOG="+filepath.Join(data, "log"))
	until, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		until.Close()
		server.Wait() // its end is not the test's business
		if t.Failed() {
			t.Logf("the server's log:\n%s", tail(filepath.Join(data, "log")))
		}
	})
	for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		conn, err := s.connect(t.Context(), "postgres", "postgres")
		if err == nil {
			conn.Close(t.Context())
			return
		}
		if time.Since(begin) > 30*time.Second {
			t.Fatalf("PostgreSQL does not answer: %v\n%s", err, tail(filepath.Join(data, "log")))
		}
	}
}

func tail(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	text, _ := io.ReadAll(f) // what there is
	return string(text[max(0, len(text)-3000):])
}

// fill makes users and the database.
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

// Rows executes SQL as User and returns the rows of its last statement, their values
// separated by blanks.
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
