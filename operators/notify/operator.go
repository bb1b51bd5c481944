// Package notify implements `notify>`: it sends a notification over the channels that are configured on the host. The
// engine generates such tasks when an attempt fails or takes too long; the package itself must not know about any
// delivery method.
package notify

import (
	"context"

	"zerodag/operators"
)

// Operator returns `notify>`.
func Operator() operators.Operator {
	return operators.Operator{Name: "notify", Summary: "sends a notification over the channels configured on the host", Run: run}
}

func run(ctx context.Context, t *operators.Task) (operators.Result, error) {
	message, err := t.Params.String("_command")
	if err != nil {
		return operators.Result{}, err
	}
	if err := t.Notifier.Notify(ctx, message, t); err != nil {
		return operators.Result{}, operators.Causedf(err, "send notification: %v", err)
	}
	return operators.Result{}, nil
}
