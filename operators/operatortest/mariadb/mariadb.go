// Package mariadb starts a real MariaDB server for a test: in a temporary folder, on 127.0.0.1, as an unprivileged
// user, without durability. It must only be imported by tests.
package mariadb

import (
	"context"
	databases "database/sql"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"

	"zerodag/operators/operatortest/daemon"
)

// Accounts of every server. Careful may read and write Database, but may not create anything in it.
const (
	User     = "digdag"
	Careful  = "careful"
	Password = "open sesame"
	Database = "target"
)

// Server is a running server.
type Server struct {
	Port int
	db   *databases.DB
}

// Missing returns what Start needs but this machine lacks, nil if nothing.
func Missing() error {
	for _, program := range []string{"mariadbd", "mariadb-install-db"} {
		if find(program) == "" {
			return errors.New("no MariaDB server is installed: install it (apt-get install mariadb-server, or `make tools` as root)")
		}
	}
	return nil
}

func find(program string) string {
	for _, name := range []string{program, "/usr/sbin/" + program} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// Start starts a server that ends with the test. Without the programs for it, the test is skipped, or fails if REQUIRE
// names peers.
func Start(t testing.TB) Server {
	t.Helper()
	if err := Missing(); err != nil {
		daemon.Skip(t, err)
	}
	folder, who := daemon.Folder(t, "mariadb", "mysql")
	data := filepath.Join(folder, "data")
	install := exec.Command(find("mariadb-install-db"), "--no-defaults", "--datadir="+data, "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve", "--tmpdir="+folder)
	install.SysProcAttr, install.Dir = who, folder
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", install.Args, err, out)
	}
	certificate, key := daemon.Certificate(t)
	daemon.Write(t, filepath.Join(folder, "server.crt"), certificate, who)
	daemon.Write(t, filepath.Join(folder, "server.key"), key, who)
	s := Server{Port: daemon.FreePort(t)}
	s.db = s.open(t, "root", "mysql")
	daemon.Run(t, folder, who, "TERM", func() error { return s.db.PingContext(t.Context()) }, find("mariadbd"),
		"--no-defaults", "--datadir="+data, "--bind-address=127.0.0.1", "--port="+strconv.Itoa(s.Port), "--socket="+filepath.Join(folder, "s"),
		"--pid-file="+filepath.Join(folder, "pid"), "--tmpdir="+folder, "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=16M", "--skip-name-resolve",
		"--ssl-cert="+filepath.Join(folder, "server.crt"), "--ssl-key="+filepath.Join(folder, "server.key"), "--max-connections=60")
	for _, text := range []string{
		"CREATE DATABASE " + Database, fmt.Sprintf("CREATE USER %s, %s IDENTIFIED BY '%s'", User, Careful, Password), "CREATE USER encrypted REQUIRE SSL",
		"GRANT ALL ON *.* TO " + User, "GRANT SELECT, INSERT, UPDATE, DELETE ON " + Database + ".* TO " + Careful, "GRANT SELECT ON " + Database + ".* TO encrypted",
	} {
		if _, err := s.db.ExecContext(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	s.db = s.open(t, User, Database)
	return s
}

func (s Server) open(t testing.TB, user, database string) *databases.DB {
	t.Helper()
	config := driver.NewConfig()
	config.User, config.DBName, config.Net, config.Addr = user, database, "tcp", fmt.Sprintf("127.0.0.1:%d", s.Port)
	config.MultiStatements, config.Logger = true, &driver.NopLogger{}
	connector, err := driver.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	db := databases.OpenDB(connector)
	t.Cleanup(func() { db.Close() })
	return db
}

// Exec executes SQL as User.
func (s Server) Exec(t testing.TB, text string) {
	t.Helper()
	if _, err := s.db.ExecContext(context.WithoutCancel(t.Context()), text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// Rows returns the rows of a statement that User executes, their values separated by spaces.
func (s Server) Rows(t testing.TB, text string) []string {
	t.Helper()
	rows, err := s.db.QueryContext(t.Context(), text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	list := []string{}
	for rows.Next() {
		values, into := make([]databases.NullString, len(names)), make([]any, len(names))
		for i := range into {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		texts := make([]string, len(names))
		for i, v := range values {
			texts[i] = v.String
		}
		list = append(list, strings.Join(texts, " "))
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return list
}
