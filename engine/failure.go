package engine

import (
	"errors"
	"fmt"
	"strings"

	"zerodag/engine/param"
)

// kinded is an error of a named kind, "config" say, that users see behind the message.
type kinded interface{ ErrorKind() string }

// ErrorObject is the error of a task as REST shows it and as `_error` tasks see it: the
// message with its kind in parentheses, and a stacktrace. Errors without a kind are "(runtime)".
func ErrorObject(err error) *param.Map {
	kind := "runtime"
	var k kinded
	if errors.As(err, &k) {
		kind = k.ErrorKind()
	}
	return param.New("message", err.Error()+" ("+kind+")", StackKey, Stack(err))
}

// StackKey is the key of an error object that says where the failure came from. Failures that an
// exception caused have it, those that an operator makes out of a message alone do not.
const StackKey = "stacktrace"

// Stack is text for the authors of the program: the types of an error and of what caused it, from
// the outermost on. It holds no message, as that of a cause may hold what is to stay hidden.
func Stack(err error) string {
	var types []string
	for err != nil {
		types = append(types, fmt.Sprintf("%T", err))
		switch e := err.(type) { //nolint:errorlint // each error of the chain is looked at, one by one
		case interface{ Unwrap() error }:
			err = e.Unwrap()
		case interface{ Unwrap() []error }:
			for _, cause := range e.Unwrap() {
				types = append(types, Stack(cause))
			}
			err = nil
		default:
			err = nil
		}
	}
	return strings.Join(types, ", ")
}
