// Command api is the REST API: the same handler as the server's, called by API Gateway. It
// never runs the engine.
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
	api, err := engine.API(version)
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(api.Handle)
}

// version is set at build time.
var version = "0.1.0"
