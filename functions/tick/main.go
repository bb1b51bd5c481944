// Command tick is what EventBridge calls: each minute for what became due, and for what
// starts workflows.
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
	lambda.Start(engine.Tick)
}
