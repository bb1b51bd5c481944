package host

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"zerodag/operators"
)

// The errors that drivers return; they translate their stores' errors into these.
var (
	// ErrConflict means that a conditional write failed because another writer was first.
	ErrConflict = errors.New("another writer was first")
	// ErrNotFound means that the object does not exist or belongs to another site.
	ErrNotFound = errors.New("not found")
	// ErrForgotten means that retention removed the object. Its contents are no longer known.
	ErrForgotten = errors.New("removed by retention")
	// ErrLeaseLost means that the message no longer belongs to this receiver.
	ErrLeaseLost = errors.New("the lease is lost")
	// ErrUnavailable means that the store cannot work now (throttled, disk full) and that the call may be retried. Runs of
	// tasks wait and retry on the same error.
	ErrUnavailable = operators.ErrUnavailable
	// ErrNoDatabase is ErrUnavailable for a database that does not respond.
	ErrNoDatabase = fmt.Errorf("%w: the database does not answer", ErrUnavailable)
	// ErrNoArchives is ErrUnavailable for a separate archive store.
	ErrNoArchives = fmt.Errorf("%w: the store of archives does not answer", ErrUnavailable)
)

// ErrAtLimit means that no other attempt of the workflow may start because too many are running or waiting
// (`concurrency`).
var ErrAtLimit = errors.New("the workflow has reached its limit of concurrent attempts")

// ErrTooManyAttempts means that the site has reached its limit of unfinished attempts.
var ErrTooManyAttempts = errors.New("too many attempts running")

// ErrPaused means that the project is paused: none of its attempts start until it is resumed.
var ErrPaused = errors.New("the project is paused")

// StartsLater reports whether an attempt that could not start may start later without a change, because nothing is
// wrong with it.
func StartsLater(err error) bool {
	return errors.Is(err, ErrTooManyAttempts) || errors.Is(err, ErrPaused)
}

// Attempt errors that do not depend on the store.
var (
	// ErrPanic means that our own code crashed, which is a bug.
	ErrPanic = errors.New("engine error")
	// ErrNoDefinition means that an attempt's workflow no longer exists or cannot be compiled.
	ErrNoDefinition = errors.New("the workflow definition cannot be used")
	// ErrGone means that an attempt has nothing left that a message could change.
	ErrGone = errors.New("the attempt no longer exists")
)

// Recover calls do and turns a panic into an ErrPanic. what names the affected message or object for the log.
func Recover(logger *slog.Logger, what string, do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			logger.Error("panic", "message", what, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("%w: %v", ErrPanic, p)
		}
	}()
	return do()
}

// Code classifies an error that the host's caller caused.
type Code int

// The codes; the REST API maps each to one status.
const (
	Invalid   Code = iota + 1 // 400
	Missing                   // 404
	Conflict                  // 409
	TooLarge                  // 413
	Forbidden                 // 403
)

// Error is an error for the user: the problem and, if possible, what to do about it.
type Error struct {
	Code    Code
	Message string
	// Existing is the attempt that a start conflicts with; nil otherwise.
	Existing *Attempt
}

func (e *Error) Error() string { return e.Message }

// Invalidf returns an Error with code Invalid.
func Invalidf(format string, args ...any) error {
	return &Error{Code: Invalid, Message: fmt.Sprintf(format, args...)}
}

// Missingf returns an Error with code Missing, about the object that format names.
func Missingf(format string, args ...any) error {
	return &Error{Code: Missing, Message: "Resource does not exist: " + fmt.Sprintf(format, args...)}
}

// Conflictf returns an Error with code Conflict.
func Conflictf(format string, args ...any) error {
	return &Error{Code: Conflict, Message: fmt.Sprintf(format, args...)}
}
