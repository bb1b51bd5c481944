package wire

import (
	"errors"
	"fmt"

	"zerodag/internal/host"
)

// Invalid returns the error for an invalid request: status 400.
func Invalid(format string, args ...any) error {
	return &host.Error{Code: host.Invalid, Message: fmt.Sprintf(format, args...)}
}

// Missing returns the error for an object that does not exist: status 404.
func Missing(format string, args ...any) error {
	return &host.Error{Code: host.Missing, Message: "Resource does not exist: " + fmt.Sprintf(format, args...)}
}

// OrMissing replaces a store's ErrNotFound with an error that has the given message.
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
