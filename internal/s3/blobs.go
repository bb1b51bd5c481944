package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"zerodag/internal/border"
	"zerodag/internal/host"
)

// Blobs keeps blobs in a bucket: a host.Blobs.
type Blobs struct {
	client *s3.Client
	sign   *s3.PresignClient
	bucket string
	part   int
}

// partSize is the number of bytes of a blob that are in memory at once; S3 requires parts of at least 5 MB.
const partSize = 8 << 20

// NewBlobs returns the Blobs of an existing bucket.
func NewBlobs(c aws.Config, bucket string) *Blobs {
	client := newClient(c)
	return &Blobs{client: client, sign: s3.NewPresignClient(client), bucket: bucket, part: partSize}
}

func newClient(c aws.Config) *s3.Client {
	return s3.NewFromConfig(border.Answered(c), func(o *s3.Options) {
		o.UsePathStyle = c.BaseEndpoint != nil             // only AWS has DNS names for buckets
		o.DisableLogOutputChecksumValidationSkipped = true // the checksum of the parts is not a checksum of the whole object
		o.Retryer = border.Retryer(0, conflicts()...)
	})
}

// checkKey accepts keys that every store can keep: relative slash paths without leading dots.
func checkKey(key string) error {
	if !fs.ValidPath(key) || key == "." || strings.HasPrefix(key, ".") || strings.Contains(key, "/.") || strings.ContainsAny(key, "\\\x00") || len(key) > 1024 {
		return fmt.Errorf("blob key %q is not a relative path", key)
	}
	return nil
}

// Put stores a blob: see host.Blobs.
func (b *Blobs) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	if err := checkKey(key); err != nil {
		return err
	}
	first, err := readPart(ctx, r, min(size, int64(b.part)))
	if err == nil && size <= int64(b.part) {
		err = atEnd(r, size)
	}
	if err != nil {
		return fmt.Errorf("store blob %s: %w", key, err)
	}
	if size > int64(b.part) {
		err = b.putParts(ctx, key, first, r, size)
	} else {
		_, err = b.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &b.bucket, Key: &key, Body: bytes.NewReader(first), IfNoneMatch: aws.String("*")})
	}
	if border.Code(err) == "PreconditionFailed" {
		return nil // it exists already
	}
	return translate("store blob "+key, err)
}

// readPart reads exactly n bytes.
func readPart(ctx context.Context, r io.Reader, n int64) ([]byte, error) {
	part := make([]byte, n)
	_, err := io.ReadFull(r, part)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errSize
	}
	return part, errors.Join(err, ctx.Err())
}

var errSize = errors.New("its size differs from the announced size")

// atEnd checks that r has no more bytes.
func atEnd(r io.Reader, size int64) error {
	if n, err := io.ReadFull(r, make([]byte, 1)); n > 0 {
		return errSize
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// putParts uploads a blob part by part; a failed upload leaves nothing behind.
func (b *Blobs) putParts(ctx context.Context, key string, part []byte, r io.Reader, size int64) (err error) {
	up, err := b.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: &b.bucket, Key: &key, ChecksumAlgorithm: types.ChecksumAlgorithmCrc32})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_, e := b.client.AbortMultipartUpload(context.WithoutCancel(ctx), &s3.AbortMultipartUploadInput{Bucket: &b.bucket, Key: &key, UploadId: up.UploadId})
			if e != nil && border.Code(err) != "PreconditionFailed" {
				err = errors.Join(err, e) // the lifecycle rule of the bucket will remove them
			}
		}
	}()
	var parts []types.CompletedPart
	for left := size; ; {
		number := aws.Int32(int32(len(parts) + 1))
		out, err := b.client.UploadPart(ctx, &s3.UploadPartInput{Bucket: &b.bucket, Key: &key, UploadId: up.UploadId, PartNumber: number, Body: bytes.NewReader(part), ChecksumAlgorithm: types.ChecksumAlgorithmCrc32})
		if err != nil {
			return err
		}
		parts = append(parts, types.CompletedPart{PartNumber: number, ETag: out.ETag, ChecksumCRC32: out.ChecksumCRC32})
		if left -= int64(len(part)); left == 0 {
			break
		}
		if part, err = readPart(ctx, r, min(left, int64(b.part))); err != nil {
			return err
		}
	}
	if err := atEnd(r, size); err != nil {
		return err
	}
	_, err = b.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{Bucket: &b.bucket, Key: &key, UploadId: up.UploadId,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: parts}, IfNoneMatch: aws.String("*")})
	return err
}

// Open reads a blob.
func (b *Blobs) Open(ctx context.Context, key string) (io.ReadCloser, int64, error) {
	if err := checkKey(key); err != nil {
		return nil, 0, err
	}
	return open(ctx, b.client, b.bucket, key)
}

func open(ctx context.Context, client *s3.Client, bucket, key string) (io.ReadCloser, int64, error) {
	out, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: &key})
	if err != nil {
		return nil, 0, translate("read "+key, err)
	}
	return body{out.Body, key}, aws.ToInt64(out.ContentLength), nil
}

// body is the content of an object; its read errors become store errors.
type body struct {
	io.ReadCloser
	key string
}

func (b body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case err == nil, err == io.EOF:
		return n, err
	case errors.Is(err, io.ErrUnexpectedEOF): // the connection ended before the object was complete
		return n, fmt.Errorf("read %s: %w: %w", b.key, host.ErrUnavailable, err)
	}
	return n, translate("read "+b.key, err)
}

// Delete removes a blob.
func (b *Blobs) Delete(ctx context.Context, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	_, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.bucket, Key: &key})
	return translate("delete blob "+key, err)
}

// Link returns a URL from which the blob, an archive, can be read without credentials.
func (b *Blobs) Link(ctx context.Context, key string, valid time.Duration) (string, error) {
	if err := checkKey(key); err != nil {
		return "", err
	}
	r, err := b.sign.PresignGetObject(ctx, &s3.GetObjectInput{Bucket: &b.bucket, Key: &key, ResponseContentType: aws.String("application/gzip")}, s3.WithPresignExpires(valid))
	if err != nil {
		return "", translate("sign link to "+key, err)
	}
	return r.URL, nil
}

// translate turns S3's response after all retries into a host error.
func translate(doing string, err error) error {
	if c := border.Code(err); c == "NoSuchKey" || c == "NotFound" {
		return fmt.Errorf("%s: %w", doing, host.ErrNotFound)
	}
	return border.Translate(doing, err, conflicts()...)
}

// conflicts returns the error codes of a conditional write that collided with another write.
func conflicts() []string { return []string{"ConditionalRequestConflict", "OperationAborted"} }
