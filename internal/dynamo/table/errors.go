package table

import (
	"errors"
	"fmt"

	"zerodag/internal/border"
	"zerodag/internal/host"
)

// conflicts returns the error codes of writes that conflicted with a transaction and may be retried.
func conflicts() []string {
	return []string{"TransactionConflictException", "TransactionInProgressException"}
}

// translate turns DynamoDB's response after all tries into a host error.
func translate(doing string, err error) error {
	return border.Translate(doing, err, conflicts()...)
}

// ErrCondition means that a condition was not met.
var ErrCondition = errors.New("condition not met")

// OrNotFound returns err, or host.ErrNotFound if err is nil.
func OrNotFound(err error, doing string, args ...any) error {
	if err == nil {
		err = host.ErrNotFound
	}
	return fmt.Errorf(doing+": %w", append(args, err)...)
}
