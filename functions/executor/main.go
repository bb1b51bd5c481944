// Command executor is the function behind the queue of events: it moves attempts on. It
// does nothing but hand messages to the host.
package main

import (
	"context"
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"zerodag/internal/cloud"
	"zerodag/operators/inline"
)

func main() {
	engine, err := cloud.Open(context.Background(), inline.Registry())
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(engine.Executor)
}
