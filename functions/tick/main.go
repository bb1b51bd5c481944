// Command tick is what EventBridge calls: each minute for what became due, and for events
// that start workflows.
package main

import (
	"context"
	"log"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"zerodag/internal/cloud"
)

func main() {
	engine, err := cloud.Open(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(func(ctx context.Context, call events.EventBridgeEvent) error {
		if call.Source == cloud.StartSource {
			return engine.StartFrom(ctx, call.ID, call.Time, call.Detail)
		}
		return engine.TickOnce(ctx)
	})
}
