// Command runners serves the machines that run commands: it gives them their passes, hands commands to them, and takes
// the results. Another function serves the users' calls, so that neither delays the other.
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
