package serverrun

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"zerodag/internal/logstream"
	"zerodag/internal/serverconfig"
	"zerodag/internal/tasklog"
	"zerodag/internal/term"
	"zerodag/operators"
)

// NewLog returns the server's own log in one of serverconfig's formats: lines like Digdag's, or JSON. flush writes the
// buffer.
func NewLog(out io.Writer, level logstream.Level, format string) (_ *slog.Logger, flush func() error) {
	log := logstream.New(out, level, tasklog.Digdag)
	if format != serverconfig.JSONLog {
		return slog.New(&consoleHandler{console: log}), log.Flush
	}
	lowest := slog.LevelError
	for _, l := range []slog.Level{slog.LevelWarn, slog.LevelInfo, slog.LevelDebug} {
		if log.Shows(consoleLevel(l)) {
			lowest = l
		}
	}
	return slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: lowest, ReplaceAttr: inSeconds})), log.Flush
}

// inSeconds writes durations as seconds, which log collectors can add up. slog would write nanoseconds, also without a
// unit.
func inSeconds(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		return slog.Float64(a.Key, a.Value.Duration().Seconds())
	}
	return a
}

// consoleHandler writes structured messages as Digdag's log lines.
type consoleHandler struct {
	console *logstream.Stream
	with    []slog.Attr
}

// Enabled implements slog.Handler.
func (h *consoleHandler) Enabled(_ context.Context, level slog.Level) bool {
	return h.console.Shows(consoleLevel(level))
}

// stackKey is the key of the only value that is printed on separate lines.
const stackKey = "stack"

// Handle implements slog.Handler. Values come from outside (project names, system errors), so it makes sure that no
// value ends the log line.
func (h *consoleHandler) Handle(_ context.Context, r slog.Record) error {
	var text strings.Builder
	text.WriteString(term.OneLine(r.Message))
	add := func(a slog.Attr) bool {
		value := fmt.Sprint(a.Value)
		if a.Key == stackKey {
			value = "\n" + value // the stack of a panic, which we wrote and which has many lines
		} else {
			value = term.OneLine(value)
		}
		text.WriteString(" " + a.Key + "=" + value)
		return true
	}
	for _, a := range h.with {
		add(a)
	}
	r.Attrs(add)
	h.console.Message(consoleLevel(r.Level), "zerodag.server", text.String())
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
