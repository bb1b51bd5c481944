package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// machine describes when and on which machine the run takes place.
func machine() string {
	var memory int64 // KiB
	if rest := field("/proc/meminfo", "MemTotal:"); rest != "" {
		memory, _ = strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	}
	return fmt.Sprintf("measured on %s: %s, %s/%s, %d processors, %.0f GiB, %s", time.Now().UTC().Format("2006-01-02"),
		strings.TrimSpace(strings.TrimPrefix(field("/proc/cpuinfo", "model name"), ":")), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), float64(memory)/(1<<20), runtime.Version())
}

// field returns the rest of the first line of a file that begins with the given name, or "" if there is none.
func field(file, name string) string {
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// load returns the system's load average of the last minute.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
