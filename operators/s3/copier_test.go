package s3

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"zerodag/integration/localstack"
)

// TestCopyInParts checks that a large object arrives whole, with its metadata.
func TestCopyInParts(t *testing.T) {
	t.Parallel()
	client := s3.NewFromConfig(localstack.Config(t), func(o *s3.Options) { o.UsePathStyle = true })
	bucket := localstack.Name()
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
	localstack.Cleanup(t, func(ctx context.Context) error {
		for _, key := range []string{"from", "to"} {
			if _, err := client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &bucket, Key: &key}); err != nil {
				return err
			}
		}
		_, err := client.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &bucket})
		return err
	})
	content := bytes.Repeat([]byte("0123456789abcdef"), 11<<16) // 11 MiB
	if _, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: new("from"), Body: bytes.NewReader(content), ContentType: new("text/plain")}); err != nil {
		t.Fatal(err)
	}
	c := copier{client, 5 << 20, 5 << 20}
	if err := c.copy(t.Context(), place{bucket, "from"}, place{bucket, "to"}, int64(len(content))); err != nil {
		t.Fatal(err)
	}
	out, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: new("to")})
	if err != nil {
		t.Fatal(err)
	}
	defer out.Body.Close()
	got, err := io.ReadAll(out.Body)
	if err != nil || !bytes.Equal(got, content) || *out.ContentType != "text/plain" {
		t.Errorf("%d of %d bytes arrived as %s: %v", len(got), len(content), *out.ContentType, err)
	}
}
