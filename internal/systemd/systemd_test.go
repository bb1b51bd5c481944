//go:build unix

package systemd

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// manager is a socket like systemd's.
func manager(t *testing.T) (socket string, next func() string) {
	t.Helper()
	folder, err := os.MkdirTemp("", "sd") // t.TempDir may be too long for the name of a socket
	if err != nil {
		t.Fatal(err)
	}
	socket = filepath.Join(folder, "notify")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		os.RemoveAll(folder)
	})
	return socket, func() string {
		t.Helper()
		text := make([]byte, 1<<10)
		c.SetReadDeadline(time.Now().Add(time.Minute))
		n, err := c.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		return string(text[:n])
	}
}

func unit(t *testing.T, variables map[string]string) *Unit {
	t.Helper()
	u, err := parse(func(name string) string { return variables[name] }, 7)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestNotify proves that each state arrives as one datagram in sd_notify's format, whatever its text is.
func TestNotify(t *testing.T) {
	t.Parallel()
	socket, next := manager(t)
	u := unit(t, map[string]string{socketVariable: socket})
	for want, send := range map[string]func() error{
		"READY=1\nSTATUS=serves a b":   func() error { return u.Ready("serves a\nb") },
		"STOPPING=1\nSTATUS=waits":     func() error { return u.Stopping("waits") },
		"STATUS=the database is away.": func() error { return u.Status("the database is away.") },
	} {
		if err := send(); err != nil {
			t.Fatal(err)
		}
		if got := next(); got != want {
			t.Errorf("systemd received %q, want %q", got, want)
		}
	}
}

// TestWatch proves that systemd gets reports from a server only while its liveness check succeeds.
func TestWatch(t *testing.T) {
	t.Parallel()
	socket, next := manager(t)
	u := unit(t, map[string]string{socketVariable: socket, watchdogVariable: "30000", processVariable: "7"})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	dead, checks := errors.New("no answer"), 0
	var failures []error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		u.Watch(ctx, func(context.Context) error {
			if checks++; checks == 2 {
				return dead
			}
			return nil
		}, func(err error) { failures = append(failures, err) })
	}()
	for range 2 { // the reports after the first and the third check
		if got := next(); got != "WATCHDOG=1" {
			t.Errorf("systemd received %q", got)
		}
	}
	stop()
	<-ended
	if len(failures) != 1 || !errors.Is(failures[0], dead) || checks < 3 {
		t.Errorf("%d checks failed with %v", checks, failures)
	}
}

// TestNoUnit proves that nothing is sent without systemd or for another process, and that a broken variable is reported.
func TestNoUnit(t *testing.T) {
	t.Parallel()
	none := unit(t, nil)
	none.Watch(t.Context(), func(context.Context) error { t.Error("it is watched"); return nil }, func(error) {})
	if err := errors.Join(none.Ready(""), none.Status(""), none.Stopping("")); err != nil {
		t.Error(err)
	}
	if other := unit(t, map[string]string{socketVariable: "x", watchdogVariable: "1", processVariable: "8"}); other.watchdog != 0 {
		t.Error("the watchdog of another process applies")
	}
	if err := unit(t, map[string]string{socketVariable: "/nonexistent/socket"}).Ready(""); err == nil || !strings.Contains(err.Error(), "notify systemd") {
		t.Errorf("an absent socket: %v", err)
	}
	if _, err := parse(func(name string) string {
		return map[string]string{socketVariable: "x", watchdogVariable: "soon"}[name]
	}, 7); err == nil {
		t.Error("a watchdog of \"soon\" is accepted")
	}
}
