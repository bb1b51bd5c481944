package configuration

import (
	"fmt"
	"slices"
	"strings"

	"zerodag/internal/logstream"
	"zerodag/internal/program"
)

// LogLevel reads the value of --log-level. Its error is a command-line error.
func LogLevel(name string) (logstream.Level, error) {
	level, known := logstream.LevelOf(name)
	if known {
		return level, nil
	}
	err := fmt.Errorf("Unknown log level '%s'", name)
	if !program.AsDigdag() {
		err = fmt.Errorf("%w: it must be one of %s", err, strings.Join(logstream.Levels(), ", "))
	}
	return 0, program.UsageError(err)
}

// LogLevel reads the level of a server's own log.
func (r *Reading) LogLevel() logstream.Level {
	const usual = "info"
	others := slices.DeleteFunc(logstream.Levels(), func(name string) bool { return name == usual })
	level, _ := logstream.LevelOf(r.OneOf(LogLevelKey, append([]string{usual}, others...)...))
	return level
}
