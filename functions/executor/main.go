// Command executor is the function behind the queue of events: it moves attempts on. It
// does nothing but hand messages to the host.
package main

import (
	"context"
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"zerodag/internal/cloud"
	"zerodag/internal/evaluators"
)

func main() {
	evaluators.Serve()
	engine, err := cloud.Open(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(engine.Executor)
}
