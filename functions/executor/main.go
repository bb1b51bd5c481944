// Command executor is the function behind the queue of events: it moves attempts on. It
// does nothing but hand messages to the host.
package main

import (
	"context"
	"log"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"zerodag/internal/cloud"
)

// visibility of the queue, as infra sets it.
const visibility = time.Minute

func main() {
	engine, err := cloud.Open(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(func(ctx context.Context, call events.SQSEvent) (events.SQSEventResponse, error) {
		return engine.Consume(ctx, engine.Events, visibility, call, engine.TakeEvent), nil
	})
}
