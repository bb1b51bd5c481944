package process

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// mostVariable is the longest environment variable on Linux, including its name and the terminating zero.
const mostVariable = 128 << 10

// tooLarge adds the name of the responsible variable to the error about a command that is too large to start.
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
		return fmt.Errorf("argument list too long: the parameter or variable %s is %d bytes, but a command can receive at most %d: store the value in a file or a table", name, len(value), mostVariable-len(name)-2)
	}
	return fmt.Errorf("argument list too long: all parameters and variables together take up %d bytes, more than the system allows for a command; the largest is %s with %d: store such values in a file or a table",
		all, name, len(value))
}
