package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"zerodag/internal/host"
)

// translated classifies PostgreSQL errors and missing responses: temporary errors become host.ErrUnavailable. Every
// client error passes through here, but none of our own errors do.
func translated(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause := ctx.Err(); cause != nil {
		return fmt.Errorf("%w: %w", cause, err)
	}
	var answer *pgconn.PgError
	if !errors.As(err, &answer) {
		return fmt.Errorf("%w: %w", host.ErrNoDatabase, err) // the connection broke, or none could be made
	}
	switch answer.Code {
	case "53100":
		return fmt.Errorf("%w: %w: %w", host.ErrUnavailable, syscall.ENOSPC, err)
	case "25006":
		return fmt.Errorf("%w: %w: %w", host.ErrUnavailable, syscall.EROFS, err)
	}
	if passes(answer.Code) {
		return fmt.Errorf("%w: %w", host.ErrUnavailable, err)
	}
	if answer.Code == "42501" {
		return fmt.Errorf("%w: the server's database user must own the schema, or have the permission to create it (GRANT CREATE ON DATABASE ... TO ...)", err)
	}
	return err
}

// passes reports whether an error may be temporary.
func passes(code string) bool {
	switch code[:2] {
	case "08", "25", "28", "3D": // the connection; a server that is a replica, or that ended an idle transaction; a password or a database that is being changed
		return true
	case "40", "53", "55", "57", "58": // rolled back; out of space; in use; ended by the operator or a time-out; the system
		return true
	}
	return false
}

// Rejected reports whether PostgreSQL refused a login: the password is wrong, or the user or the database does not
// exist. A running server waits for this to change, but a server that is starting was probably misconfigured.
func Rejected(err error) bool {
	c := code(err)
	return strings.HasPrefix(c, "28") || c == "3D000"
}

// code returns PostgreSQL's code for an error, or "" if the error did not come from PostgreSQL.
func code(err error) string {
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		return answer.Code
	}
	return ""
}
