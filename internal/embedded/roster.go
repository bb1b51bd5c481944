package embedded

import (
	"cmp"
	"context"
	"crypto/rand"
	"os"
	"strings"

	"zerodag/internal/files"
	"zerodag/internal/host"
	"zerodag/internal/node"
	"zerodag/internal/roster"
)

// enroll keeps this server's record in the database until the returned function is called. The record shows when the
// server stops accepting work.
func (e *Engine) enroll(ctx, accepting context.Context, p node.Parts) (leave func()) {
	fixed := e.self
	fixed.ID = strings.ToLower(rand.Text()[:12])
	fixed.Executor, fixed.Scheduler, fixed.Agent = p.Executor, p.Scheduler, p.Agent
	r := roster.New(roster.Options{Servers: e.DB, Every: e.Limits().Heartbeat, Alone: e.shared == nil, Lost: e.Meter.ServerLost, Logger: e.logger,
		Self: func() host.Server {
			s := fixed
			s.Running, s.Ahead, s.Stopping = int(e.Stats().TasksRunning), e.ahead(), accepting.Err() != nil
			return s
		}})
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.Run(ctx, accepting)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// agent returns this server's name.
func (o Options) agent() string { return cmp.Or(o.AgentID, files.ThisAgent()) }

// describe returns the parts of this server's record that never change.
func (o Options) describe(l host.Limits) host.Server {
	name, _ := os.Hostname() // "" is shown as unknown
	return host.Server{Name: o.agent(), Host: name, PID: os.Getpid(), Version: o.Version, Types: l.Types, Slots: l.Threads, Lease: l.Lease}
}
