// Command upload is what S3 calls for an archive that was put into a slot: it checks the
// archive and registers it as a revision, and says where the pusher reads it what is wrong.
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
