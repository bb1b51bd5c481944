package main

import (
	"fmt"
	"strconv"

	"zerodag/internal/client"
	"zerodag/internal/program"
)

// idArgument reads a number that names something.
func idArgument(what, text string) (client.ID, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return client.ID(strconv.FormatInt(n, 10)), nil
	}
	return "", program.UsageError(fmt.Errorf("%s must be a number but is %q", what, text))
}
