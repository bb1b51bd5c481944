// Command runners answers the machines that run commands: it gives them their passes, hands commands
// to them, and takes what became of these. People's calls are another function's, so that
// neither is in the way of the other.
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
	lambda.Start(engine.Runners())
}
