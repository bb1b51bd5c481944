// Command tick is called by EventBridge: each minute for due work, and for triggers of workflows.
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
