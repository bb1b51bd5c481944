// Command agent is the function behind the queue of tasks: it runs operators.
package main

import (
	"context"
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"zerodag/internal/cloud"
	"zerodag/operators/all"
)

func main() {
	engine, err := cloud.Open(context.Background(), all.Registry())
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(engine.Agent)
}
