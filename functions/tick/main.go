// Command tick is what EventBridge calls: each minute for what became due, and for what
// starts workflows.
package main

import (
	"context"
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"zerodag/internal/cloud"
)

func main() {
	engine, err := cloud.Open(context.Background(), nil)
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(engine.Tick)
}
