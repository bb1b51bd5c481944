package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"zerodag/internal/tasklog"
	"zerodag/operators"
)

// The forms of a server's own log, and the key that chooses one.
const (
	logFormatKey = "server.log-format"
	textLog      = "text"
	jsonLog      = "json"
)

// newServerLog makes the log of a server itself. To flush it is to write what is buffered.
func newServerLog(out io.Writer, level, format string) (_ *slog.Logger, flush func() error, _ error) {
	log, err := newConsole(out, level, tasklog.Digdag)
	if err != nil {
		return nil, nil, err
	}
	if format != jsonLog {
		return slog.New(&consoleHandler{console: log}), log.flush, nil
	}
	lowest := slog.LevelError
	for _, l := range []slog.Level{slog.LevelWarn, slog.LevelInfo, slog.LevelDebug} {
		if log.shows(consoleLevel(l)) {
			lowest = l
		}
	}
	return slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: lowest, ReplaceAttr: inSeconds})), log.flush, nil
}

// inSeconds writes durations as seconds, which collectors of logs can add up: slog's nanoseconds say no unit either.
func inSeconds(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		return slog.Float64(a.Key, a.Value.Duration().Seconds())
	}
	return a
}

// consoleHandler writes structured messages as the original's log lines.
type consoleHandler struct {
	console *console
	with    []slog.Attr
}

// Enabled implements slog.Handler.
func (h *consoleHandler) Enabled(_ context.Context, level slog.Level) bool {
	return h.console.shows(consoleLevel(level))
}

// stackKey is the key of the one value that has lines of its own.
const stackKey = "stack"

// Handle implements slog.Handler. Values are others' (names of projects, errors of systems):
// none ends its line.
func (h *consoleHandler) Handle(_ context.Context, r slog.Record) error {
	var text strings.Builder
	text.WriteString(oneLine(r.Message))
	add := func(a slog.Attr) bool {
		value := fmt.Sprint(a.Value)
		if a.Key == stackKey {
			value = "\n" + value // of a panic: ours, and many lines
		} else {
			value = oneLine(value)
		}
		text.WriteString(" " + a.Key + "=" + value)
		return true
	}
	for _, a := range h.with {
		add(a)
	}
	r.Attrs(add)
	h.console.message(consoleLevel(r.Level), "zerodag.server", text.String())
	return nil
}

// WithAttrs implements slog.Handler.
func (h *consoleHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &consoleHandler{h.console, append(h.with[:len(h.with):len(h.with)], attrs...)}
}

// WithGroup implements slog.Handler; groups are not shown.
func (h *consoleHandler) WithGroup(string) slog.Handler { return h }

func consoleLevel(l slog.Level) operators.Level {
	switch {
	case l >= slog.LevelError:
		return operators.Error
	case l >= slog.LevelWarn:
		return operators.Warn
	case l >= slog.LevelInfo:
		return operators.Info
	}
	return operators.Debug
}
