package postgres

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"zerodag/operators/operatortest/daemon"
)

// Pooler starts PgBouncer in front of a server at the given port. It pools by transaction: each transaction may get a
// different connection of the server, and nothing that was set on a connection survives. It returns its own port.
// Without PgBouncer, the test is skipped, or fails if REQUIRE names peers.
func Pooler(t testing.TB, server int) int {
	t.Helper()
	program, err := pgbouncer()
	if err != nil {
		daemon.Skip(t, err)
	}
	folder, who := daemon.Folder(t, "pgbouncer", "postgres")
	port := daemon.FreePort(t)
	settings := filepath.Join(folder, "pgbouncer.ini")
	daemon.Write(t, settings, fmt.Sprintf(`[databases]
* = host=127.0.0.1 port=%d
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = trust
auth_file = %s
pool_mode = transaction
default_pool_size = 30
max_client_conn = 500
server_reset_query = DISCARD ALL
server_reset_query_always = 1
server_round_robin = 1
server_login_retry = 1
`, server, port, filepath.Join(folder, "users")), who)
	daemon.Write(t, filepath.Join(folder, "users"), `"`+User+`" ""`+"\n", who)
	daemon.Run(t, folder, who, "INT", func() error {
		conn, err := pgconn.Connect(t.Context(), "host=127.0.0.1 port="+strconv.Itoa(port)+" user="+User+" dbname="+Database+" sslmode=disable connect_timeout=5")
		if err == nil {
			conn.Close(t.Context())
		}
		return err
	}, program, settings)
	return port
}

func pgbouncer() (string, error) {
	for _, name := range []string{"pgbouncer", "/usr/sbin/pgbouncer"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("PgBouncer is not installed: install it (apt-get install pgbouncer, or `make tools` as root)")
}
