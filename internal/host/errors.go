package host

import (
	"errors"
	"fmt"
)

// What drivers answer; they translate the errors of their stores at the border.
var (
	// ErrConflict: a conditional write found that somebody else was first.
	ErrConflict = errors.New("somebody else was first")
	// ErrNotFound: there is no such thing, or it belongs to another site.
	ErrNotFound = errors.New("not found")
	// ErrLeaseLost: the message is not this receiver's any more.
	ErrLeaseLost = errors.New("the lease is lost")
	// ErrUnavailable: the store cannot work now (throttled, disk full); try again.
	ErrUnavailable = errors.New("the store is not available now")
)

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

// Error is an error for the user: what is wrong and, where it helps, what to do.
type Error struct {
	Code    Code
	Message string
	// Existing is the attempt that a start conflicts with; nil otherwise.
	Existing *Attempt
}

func (e *Error) Error() string { return e.Message }

func invalidf(format string, args ...any) error {
	return &Error{Code: Invalid, Message: fmt.Sprintf(format, args...)}
}

func missingf(format string, args ...any) error {
	return &Error{Code: Missing, Message: "Resource does not exist: " + fmt.Sprintf(format, args...)}
}

func conflictf(format string, args ...any) error {
	return &Error{Code: Conflict, Message: fmt.Sprintf(format, args...)}
}
