// Package systemd reports the state of a server to systemd, which starts it as a unit of Type=notify: that it is ready
// or stopping, and, if the unit has a watchdog, that it is alive.
//
// Package serverrun uses it. Without systemd, nothing is sent. It must never decide whether the server is alive.
package systemd

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// Unit is the unit that runs this process. A nil Unit belongs to no unit, and its methods do nothing.
type Unit struct {
	socket   string
	watchdog time.Duration // 0: the unit has none
}

// Variables of sd_notify(3) and sd_watchdog_enabled(3).
const (
	socketVariable   = "NOTIFY_SOCKET"
	watchdogVariable = "WATCHDOG_USEC"
	processVariable  = "WATCHDOG_PID"
)

// New returns the unit with the given socket and watchdog time (0 if it has no watchdog).
func New(socket string, watchdog time.Duration) *Unit { return &Unit{socket, watchdog} }

// FromEnvironment returns the unit that systemd's variables describe. It removes them, because the commands of tasks
// must not report to systemd.
func FromEnvironment() (*Unit, error) {
	u, err := parse(os.Getenv, os.Getpid())
	for _, name := range []string{socketVariable, watchdogVariable, processVariable} {
		os.Unsetenv(name) //nolint:errcheck // it fails only for names that no variable can have
	}
	return u, err
}

func parse(variable func(string) string, pid int) (*Unit, error) {
	socket := variable(socketVariable)
	if socket == "" {
		return nil, nil //nolint:nilnil // nil is the documented value for no unit
	}
	text, process := variable(watchdogVariable), variable(processVariable)
	if text == "" || process != "" && process != strconv.Itoa(pid) {
		return New(socket, 0), nil
	}
	micros, err := strconv.ParseInt(text, 10, 64)
	if err != nil || micros <= 0 {
		return nil, fmt.Errorf("read the environment variable %s: %q is not a number of microseconds", watchdogVariable, text)
	}
	return New(socket, time.Duration(micros)*time.Microsecond), nil
}

// Ready reports that the server is serving requests.
func (u *Unit) Ready(status string) error { return u.send("READY=1", "STATUS="+status) }

// Stopping reports that the server is shutting down.
func (u *Unit) Stopping(status string) error { return u.send("STOPPING=1", "STATUS="+status) }

// Status changes the text that `systemctl status` shows.
func (u *Unit) Status(status string) error { return u.send("STATUS=" + status) }

// Watch reports that the server is alive each time that alive succeeds, until ctx ends. systemd ends the process if no
// report arrives in time. failed is called with each error of alive or of a report.
func (u *Unit) Watch(ctx context.Context, alive func(context.Context) error, failed func(error)) {
	if u == nil || u.watchdog == 0 {
		return
	}
	ticker := time.NewTicker(u.watchdog / 3)
	defer ticker.Stop()
	for {
		bounded, cancel := context.WithTimeout(ctx, u.watchdog/3)
		err := alive(bounded)
		cancel()
		if err == nil {
			err = u.send("WATCHDOG=1")
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			failed(err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// send sends one datagram. A name that begins with @ is in Linux's abstract namespace, for which package net uses the
// same notation.
func (u *Unit) send(lines ...string) error {
	if u == nil {
		return nil
	}
	for i, l := range lines {
		lines[i] = strings.ReplaceAll(l, "\n", " ")
	}
	c, err := net.Dial("unixgram", u.socket)
	if err != nil {
		return fmt.Errorf("notify systemd: %w", err)
	}
	defer c.Close()
	if _, err := c.Write([]byte(strings.Join(lines, "\n"))); err != nil {
		return fmt.Errorf("notify systemd: %w", err)
	}
	return nil
}
