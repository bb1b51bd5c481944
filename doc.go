// Package zerodag runs workflows of the Digdag language inside a Go program: with a durable log, schedules, retries and
// the REST API, and without a separate server.
//
//	e, err := zerodag.Open("data", zerodag.Options{})
//	err = e.Push(ctx, "project", "reports", "rev-1")
//	id, err := e.Start(ctx, zerodag.Start{Project: "reports", Workflow: "daily"})
//	err = e.Wait(ctx, id)
//	err = e.Close(ctx)
//
// Programs call it; the command line is cmd/zerodag, the state machine package engine. It must contain no rules itself.
package zerodag
