package engine

import (
	"errors"

	"zerodag/engine/param"
)

// kinded is an error of a named kind, "config" say, that users see behind the message.
type kinded interface{ ErrorKind() string }

// ErrorObject is the error of a task as REST shows it and as `_error` tasks see it: the
// message with its kind in parentheses, and a stacktrace key because the original's
// clients expect one. Errors without a kind are "(runtime)".
func ErrorObject(err error) *param.Map {
	kind := "runtime"
	var k kinded
	if errors.As(err, &k) {
		kind = k.ErrorKind()
	}
	return param.New("message", err.Error()+" ("+kind+")", "stacktrace", "")
}
