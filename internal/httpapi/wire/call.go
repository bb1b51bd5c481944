package wire

import (
	"errors"
	"fmt"

	"zerodag/internal/host"
)

// Invalid is the error about a request that makes no sense: status 400.
func Invalid(format string, args ...any) error {
	return &host.Error{Code: host.Invalid, Message: fmt.Sprintf(format, args...)}
}

// Missing is the error about a thing that does not exist: status 404.
func Missing(format string, args ...any) error {
	return &host.Error{Code: host.Missing, Message: "Resource does not exist: " + fmt.Sprintf(format, args...)}
}

// OrMissing gives ErrNotFound of a store its text.
func OrMissing(err error, format string, args ...any) error {
	if errors.Is(err, host.ErrNotFound) {
		return Missing(format, args...)
	}
	return err
}

// The content types of bodies.
const (
	JSONType = "application/json"
	GzipType = "application/gzip"
)
