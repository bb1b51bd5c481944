package mysql

import (
	"context"
	"crypto/tls"
	databases "database/sql"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"zerodag/operators"
	"zerodag/operators/sql"
)

// session is a connection to a server. After an error, its transaction is lost: closing rolls it back.
type session struct {
	at     *sql.Server
	db     *databases.DB
	conn   *databases.Conn
	id     int64        // the server's id for it
	silent *atomic.Bool // the server was silent for too long
}

// Error numbers of the server.
const (
	noSuchTable  = 1146
	noSuchThread = 1094
	lockTimeout  = 1205
	accessDenied = 1045
	readOnly     = 1792
	secureWanted = 3159 // connections must be encrypted
)

// number returns the server's number for an error, 0 if the error is not from the server.
func number(err error) uint16 {
	var said *driver.MySQLError
	if errors.As(err, &said) {
		return said.Number
	}
	return 0
}

// connect opens a session; with scripts, it accepts several statements at once. The agent's own environment does not
// affect it.
func connect(ctx context.Context, at *sql.Server, scripts bool) (*session, error) {
	login := at.Login()
	s := &session{at: at, silent: &atomic.Bool{}}
	config := driver.NewConfig()
	config.User, config.Passwd, config.DBName = login.User, login.Password, login.Database
	config.Net, config.Addr = "tcp", net.JoinHostPort(login.Host, strconv.Itoa(int(login.Port)))
	config.MultiStatements, config.InterpolateParams = scripts, true
	config.Params = map[string]string{"time_zone": "'+00:00'"}
	if err := config.Apply(driver.Charset("utf8mb4", "")); err != nil {
		return nil, fmt.Errorf("configure the connection: %w", err)
	}
	config.Logger = &driver.NopLogger{}
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := at.Dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &patientConn{c, login.Silence, s.silent}, nil
	}
	if login.TLS {
		config.TLS = &tls.Config{ServerName: login.Host, InsecureSkipVerify: true} // #nosec G402 -- encrypted but not verified, like pg>
	}
	connector, err := driver.NewConnector(config)
	if err != nil {
		return nil, fmt.Errorf("configure the connection: %w", err)
	}
	s.db = databases.OpenDB(connector)
	s.db.SetMaxOpenConns(1)
	if s.conn, err = s.db.Conn(ctx); err == nil {
		err = s.conn.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&s.id)
	}
	if err != nil {
		s.close()
		return nil, s.unreachable(ctx, err)
	}
	return s, nil
}

func (s *session) close() {
	if s.conn != nil {
		s.conn.Close() //nolint:errcheck // what must be kept is committed
	}
	s.db.Close() //nolint:errcheck // likewise
}

// patientConn ends if the server is silent for too long, and records that.
type patientConn struct {
	net.Conn
	silence time.Duration
	silent  *atomic.Bool
}

func (c *patientConn) Read(b []byte) (int, error) {
	if c.silence > 0 {
		if err := c.SetReadDeadline(time.Now().Add(c.silence)); err != nil {
			return 0, err
		}
	}
	n, err := c.Conn.Read(b)
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		c.silent.Store(true)
	}
	return n, err
}

// exec executes a statement, or a script if the session accepts them, whose rows are not needed.
func (s *session) exec(ctx context.Context, what, text string, args ...any) error {
	_, err := s.conn.ExecContext(ctx, text, args...)
	return s.failure(ctx, what, err)
}

// row reads the values of one row.
func (s *session) row(ctx context.Context, what, text string, args, into []any) error {
	err := s.conn.QueryRowContext(ctx, text, args...).Scan(into...)
	if errors.Is(err, databases.ErrNoRows) {
		return err
	}
	return s.failure(ctx, what, err)
}

// failure returns a statement's failure. If nothing is waiting for the statement anymore, it is also ended on the
// server, which would not notice.
func (s *session) failure(ctx context.Context, what string, err error) error {
	switch {
	case err == nil:
		return nil
	case s.silent.Load():
		s.endQuery()
		return operators.Causedf(err, "Failed to %s [no response from the server for %v: see socket_timeout]", what, s.at.Login().Silence)
	case ctx.Err() != nil:
		s.endQuery()
		return ctx.Err()
	}
	return operators.Causedf(err, "Failed to %s [%s]", what, s.words(err))
}

// endQuery ends the current statement of the session, through another session.
func (s *session) endQuery() {
	ctx, cancel := context.WithTimeout(context.Background(), sql.Farewell)
	defer cancel()
	other, err := connect(ctx, s.at, false)
	if err != nil {
		return // the server cannot be reached
	}
	defer other.close()
	_ = other.kill(ctx, "KILL", s.id) // only the reason for ending the query matters
}

// kill ends a session or, with "KILL QUERY", its statement; a missing session counts as ended.
func (s *session) kill(ctx context.Context, how string, id int64) error {
	err := s.exec(ctx, "end queries of earlier runs", how+" "+strconv.FormatInt(id, 10))
	if number(err) == noSuchThread {
		return nil
	}
	return err
}

// words returns the server's message, or else the error that prevented the server from being reached.
func (s *session) words(err error) string {
	var said *driver.MySQLError
	if !errors.As(err, &said) {
		return s.at.Plain(err.Error())
	}
	return s.at.Plain(fmt.Sprintf("ERROR %d (%s): %s", said.Number, said.SQLState, said.Message))
}

// unreachable returns the failure of a connection, with a hint.
func (s *session) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	advice := ""
	switch login := s.at.Login(); {
	case number(err) == accessDenied && login.Password == "":
		advice = ": there is no secret mysql.password, set it with `zerodag secrets --project " + s.at.Project() + " --set mysql.password`"
	case number(err) == secureWanted && !login.TLS:
		advice = ": set `ssl: true` because the server requires encrypted connections"
	}
	return operators.Causedf(err, "Failed to connect to the database [%s]%s", s.words(err), advice)
}
