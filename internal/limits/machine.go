package limits

import (
	"os"
	"strconv"
	"strings"
)

// Memory returns the size of this machine's memory in bytes; 0 if the machine does not report it.
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

// Processes returns how many processes and threads this machine can have; 0 if the machine does not report it.
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
