package sql

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"zerodag/operators"
)

// Session is a connection to a server. After an error, its transaction is lost: closing rolls it back.
type Session struct {
	conn *pgconn.PgConn
	at   *Server
}

// Close ends the session.
func (s *Session) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), Farewell)
	defer cancel()
	s.conn.Close(ctx) //nolint:errcheck // what must be kept is committed
}

// errSilent is why a query ends if its server is silent.
var errSilent = errors.New("silent")

// patient limits how long the server may be silent; heard restarts the limit.
func (s *Session) patient(ctx context.Context) (limited context.Context, heard, done func()) {
	limited, cancel := context.WithCancelCause(ctx)
	if s.at.silence <= 0 {
		return limited, func() {}, func() { cancel(nil) }
	}
	timer := time.AfterFunc(s.at.silence, func() { cancel(errSilent) })
	return limited, func() { timer.Reset(s.at.silence) }, func() { timer.Stop(); cancel(nil) }
}

// Script executes any number of statements, whose rows are not needed. It reads the server's messages itself: the
// library would wait forever if a statement requested data from the client.
func (s *Session) Script(ctx context.Context, what, sql string) error {
	limited, heard, done := s.patient(ctx)
	defer done()
	s.conn.Frontend().SendQuery(&pgproto3.Query{String: s.at.Tag() + sql})
	failed := s.conn.Frontend().Flush()
	for failed == nil || Code(failed) != "" { // after an error from the server, more messages follow
		message, err := s.conn.ReceiveMessage(limited)
		if err != nil {
			return s.failure(limited, what, cmp.Or(failed, err))
		}
		heard()
		switch m := message.(type) {
		case *pgproto3.ErrorResponse:
			failed = cmp.Or(failed, error(pgconn.ErrorResponseToPgError(m)))
		case *pgproto3.CopyInResponse:
			s.conn.Frontend().Send(&pgproto3.CopyFail{Message: "tasks have no standard input, use INSERT"})
			failed = s.conn.Frontend().Flush()
		case *pgproto3.ReadyForQuery:
			return s.failure(limited, what, failed)
		}
	}
	return s.failure(limited, what, failed)
}

// Query executes one statement with arguments $1, $2 ... and passes its rows to take, unless that is nil, in the
// server's text form. An error from take ends the query.
func (s *Session) Query(ctx context.Context, what, sql string, args []string, take func(fields []pgconn.FieldDescription, row [][]byte) error) error {
	limited, heard, done := s.patient(ctx)
	defer done()
	values := make([][]byte, len(args))
	for i, a := range args {
		values[i] = []byte(a)
	}
	rows := s.conn.ExecParams(limited, s.at.Tag()+sql, values, nil, nil, nil)
	var refused error
	if take != nil && rows.FieldDescriptions() != nil {
		refused = take(rows.FieldDescriptions(), nil) // the columns, before the first row
	}
	for refused == nil && rows.NextRow() {
		heard()
		if take != nil {
			refused = take(rows.FieldDescriptions(), rows.Values())
		}
	}
	if refused != nil {
		done()       // the server may stop: the rest is not read
		rows.Close() //nolint:errcheck // the refusal matters more
		return refused
	}
	_, err := rows.Close()
	return s.failure(limited, what, err)
}

// Code returns the server's error code, "" if the error is not from the server.
func Code(err error) string {
	var said *pgconn.PgError
	if errors.As(err, &said) {
		return said.Code
	}
	return ""
}

func (s *Session) failure(limited context.Context, what string, err error) error {
	switch {
	case err == nil:
		return nil
	case context.Cause(limited) == errSilent: //nolint:errorlint // a cause is returned as it was given
		return operators.Causedf(errSilent, "Failed to %s [no response from the server for %v: see socket_timeout]", what, s.at.silence)
	case limited.Err() != nil:
		return limited.Err()
	}
	return operators.Causedf(err, "Failed to %s [%s]", what, s.at.words(err))
}

// words returns the server's message as Digdag's driver words it, or else the error that prevented the server from
// being reached.
func (s *Server) words(err error) string {
	var said *pgconn.PgError
	if !errors.As(err, &said) {
		return s.hide.Replace(err.Error())
	}
	text := said.Severity + ": " + said.Message
	for _, more := range []struct{ name, text string }{{"Detail", said.Detail}, {"Hint", said.Hint}} {
		if more.text != "" {
			text += "\n  " + more.name + ": " + more.text
		}
	}
	if said.Position != 0 {
		text += fmt.Sprintf("\n  Position: %d", int(said.Position)-len(s.Tag()))
	}
	if said.Where != "" {
		text += "\n  Where: " + said.Where
	}
	return s.hide.Replace(text)
}

// A server's error codes.
const (
	noSuchPassword = "28P01"
	notAuthorized  = "28000"
	ReadOnly       = "25006"
	LockNotFree    = "55P03"
	NotUnique      = "23505"
	TableThere     = "42P07"
	TypeThere      = "42710" // every table has a type with its name
)

// unreachable returns the failure of a connection, with a hint.
func (s *Server) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	why := err
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		why = connect.Unwrap()
	}
	advice := ""
	switch c := Code(err); {
	case c == noSuchPassword && s.password == "":
		advice = fmt.Sprintf(": there is no secret %s.password, set it with `zerodag secrets --project %s --set %[1]s.password`", s.kind.Secrets, s.project)
	case c == notAuthorized && !s.ssl && strings.Contains(err.Error(), "no encryption"):
		advice = ": set `ssl: true` if the server requires encrypted connections"
	}
	return operators.Causedf(why, "Failed to connect to the database [%s]%s", s.words(why), advice)
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }
