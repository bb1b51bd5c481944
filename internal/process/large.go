package process

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// mostVariable is how long a variable of the environment may be on Linux, with its name and an end.
const mostVariable = 128 << 10

// tooLarge adds the responsible variable to the error about a command that is too large to start.
func tooLarge(err error, env []string) error {
	if !errors.Is(err, syscall.E2BIG) {
		return err
	}
	largest, all := "", 0
	for _, v := range env {
		all += len(v) + 1
		if len(v) > len(largest) {
			largest = v
		}
	}
	name, value, _ := strings.Cut(largest, "=")
	if len(largest) >= mostVariable {
		return fmt.Errorf("argument list too long: the parameter or variable %s has %d bytes, and a command can be given %d at most: keep such a value in a file or a table", name, len(value), mostVariable-len(name)-2)
	}
	return fmt.Errorf("argument list too long: all parameters and variables have %d bytes together, more than the system gives to a command; the largest is %s with %d: keep such values in a file or a table",
		all, name, len(value))
}
