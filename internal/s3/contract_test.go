package s3_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"zerodag/integration/localstack"
	"zerodag/internal/host"
	"zerodag/internal/host/hosttest"
	"zerodag/internal/host/hosttest/suite"
	"zerodag/internal/s3"
)

var (
	_ host.Blobs = (*s3.Blobs)(nil)
	_ host.Logs  = (*s3.Logs)(nil)
)

// bucket creates a bucket that is emptied and removed at the end of the test.
func bucket(t testing.TB, c aws.Config) string {
	t.Helper()
	client := awss3.NewFromConfig(c, func(o *awss3.Options) { o.UsePathStyle = true })
	name := localstack.Name()
	if _, err := client.CreateBucket(t.Context(), &awss3.CreateBucketInput{Bucket: &name}); err != nil {
		t.Fatal(err)
	}
	localstack.Cleanup(t, func(ctx context.Context) error {
		list, err := client.ListObjectsV2(ctx, &awss3.ListObjectsV2Input{Bucket: &name})
		if err != nil {
			return err
		}
		for _, o := range list.Contents {
			if _, err := client.DeleteObject(ctx, &awss3.DeleteObjectInput{Bucket: &name, Key: o.Key}); err != nil {
				return err
			}
		}
		_, err = client.DeleteBucket(ctx, &awss3.DeleteBucketInput{Bucket: &name})
		return err
	})
	return name
}

// TestContract runs the suites for blobs and logs. In it, growing logs are visible at once, and short logs are objects.
func TestContract(t *testing.T) {
	t.Parallel()
	c := localstack.Config(t)
	hosttest.Exercise(t, hosttest.Driver{Absent: hosttest.AllBut("objects of S3 are large things, the rest is in a table (package dynamo)", "Blobs", "Logs"),
		Stores: func(t *testing.T, run func(*testing.T, suite.Stores)) {
			name := bucket(t, c)
			run(t, suite.Stores{Now: time.Now, Blobs: s3.NewBlobs(c, name),
				Logs: s3.NewLogs(c, s3.LogOptions{Bucket: name, AgentID: "agent", Moment: 10 * time.Millisecond, LongestMoment: 10 * time.Millisecond})})
		}})
}
