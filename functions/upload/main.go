// Command upload is called by S3 for an archive that was put into a slot: it checks the archive, registers it as a
// revision, and stores any errors in the place where the pusher reads them.
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
	lambda.Start(engine.Upload)
}
