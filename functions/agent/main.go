// Command agent is the function behind the queue of tasks: it runs operators. Its first act
// is to make the lease of its message short, so that a crash is noticed in a minute.
package main

import (
	"context"
	"log"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"zerodag/internal/cloud"
	"zerodag/internal/host"
)

func main() {
	engine, err := cloud.Open(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(func(ctx context.Context, call events.SQSEvent) (events.SQSEventResponse, error) {
		lease := engine.Limits.Lease
		return engine.Consume(ctx, engine.Tasks, lease, call, func(ctx context.Context, q host.Queue, d host.Delivery) {
			if err := engine.Tasks.Extend(ctx, d, lease); err != nil {
				engine.Logger.Error("shorten lease", "message", d.ID, "error", err)
				return // somebody else has it, or it comes again
			}
			engine.TakeTask(ctx, q, d)
		}), nil
	})
}
