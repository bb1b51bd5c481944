// Command executor is the function behind the queue of events: it advances attempts. It does nothing but pass messages
// to the host.
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
