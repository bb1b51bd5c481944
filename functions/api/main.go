// Command api is the REST API: the same handler as the server's, called by API Gateway. It decides the first entry of
// an attempt's log and reads the others; it advances no attempt and runs no task. All other paths belong to the web
// console.
package main

import (
	"context"
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"zerodag/internal/cloud"
	"zerodag/ui"
)

func main() {
	engine, err := cloud.Open(context.Background(), nil)
	if err != nil {
		log.Fatal(err)
	}
	page, err := ui.Handler()
	if err != nil {
		log.Fatal(err)
	}
	api, err := engine.API(version, page)
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(api.Handle)
}

// version is set at build time.
var version = "0.1.0"
