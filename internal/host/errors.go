package host

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"zerodag/operators"
)

// What drivers answer; they translate the errors of their stores at the border.
var (
	// ErrConflict: a conditional write found that another writer was first.
	ErrConflict = errors.New("another writer was first")
	// ErrNotFound: there is no such object, or it belongs to another site.
	ErrNotFound = errors.New("not found")
	// ErrForgotten: removed by retention. It is not known any more what it was.
	ErrForgotten = errors.New("removed by retention")
	// ErrLeaseLost: the message is not this receiver's any more.
	ErrLeaseLost = errors.New("the lease is lost")
	// ErrUnavailable: the store cannot work now (throttled, disk full); try again. Runs of tasks wait and retry on the
	// same error.
	ErrUnavailable = operators.ErrUnavailable
)

// ErrAtLimit means that so many attempts of the workflow run, or wait, that no other one may start (`concurrency`).
var ErrAtLimit = errors.New("the workflow has reached its limit of concurrent attempts")

// ErrTooManyAttempts means that the site has all the unfinished attempts that it may have.
var ErrTooManyAttempts = errors.New("too many attempts running")

// ErrPaused means that the project is paused: none of its attempts start until it is resumed.
var ErrPaused = errors.New("the project is paused")

// StartsLater reports whether an attempt that could not start may start later on its own, because nothing is wrong with
// it.
func StartsLater(err error) bool {
	return errors.Is(err, ErrTooManyAttempts) || errors.Is(err, ErrPaused)
}

// Errors of an attempt that do not depend on the store.
var (
	// ErrPanic: our own code crashed; that is a defect.
	ErrPanic = errors.New("engine error")
	// ErrNoDefinition: the workflow of an attempt is gone, or cannot be compiled.
	ErrNoDefinition = errors.New("the workflow definition cannot be used")
	// ErrGone: nothing is left of an attempt that a message could change.
	ErrGone = errors.New("the attempt no longer exists")
)

// Recover calls do and turns a panic into an ErrPanic. what names the message or object that it was about, for the log.
func Recover(logger *slog.Logger, what string, do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			logger.Error("panic", "message", what, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("%w: %v", ErrPanic, p)
		}
	}()
	return do()
}

// Code is the class of an error that a caller of the host caused.
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

// Invalidf makes an Error of code Invalid.
func Invalidf(format string, args ...any) error {
	return &Error{Code: Invalid, Message: fmt.Sprintf(format, args...)}
}

// Missingf makes an Error of code Missing, about a thing that format names.
func Missingf(format string, args ...any) error {
	return &Error{Code: Missing, Message: "Resource does not exist: " + fmt.Sprintf(format, args...)}
}

// Conflictf makes an Error of code Conflict.
func Conflictf(format string, args ...any) error {
	return &Error{Code: Conflict, Message: fmt.Sprintf(format, args...)}
}
