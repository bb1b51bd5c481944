package limits

import (
	"os"
	"strconv"
	"strings"
)

// Memory is the bytes of memory that this machine has; 0 if it does not report them.
func Memory() int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(text), "MemTotal:")
	fields := strings.Fields(after)
	if len(fields) < 2 || fields[1] != "kB" {
		return 0
	}
	n, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}

// Processes is how many processes and threads this machine can have; 0 if it does not report it.
func Processes() int {
	text, err := os.ReadFile("/proc/sys/kernel/pid_max")
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return n
}
