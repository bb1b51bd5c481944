package s3

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"zerodag/internal/sandbox"
	"zerodag/internal/tasklog"
)

// How long runners' links can be used. They are signed when they are needed; a link is valid no longer than the session
// of the function that signed it.
const (
	readValid  = 15 * time.Minute
	writeValid = time.Hour
)

// Links gives runners access to single objects: a sandbox.Links.
type Links struct {
	Blobs *Blobs
	Logs  *Logs
}

// Put stores a small blob.
func (l Links) Put(ctx context.Context, key string, content []byte) error {
	return l.Blobs.Put(ctx, key, bytes.NewReader(content), int64(len(content)))
}

// Blob returns a link for reading a blob.
func (l Links) Blob(ctx context.Context, key string) (string, error) {
	return l.Blobs.Link(ctx, key, readValid)
}

// Log returns a link for writing part of a log, under the name by which it is listed.
func (l Links) Log(ctx context.Context, id sandbox.LogID, runner string, began time.Time) (string, error) {
	key := l.Logs.folder(id.Site, id.Attempt) + tasklog.Name(id.Task, "runner-"+runner, began)
	r, err := l.Logs.sign.PresignPutObject(ctx, &s3.PutObjectInput{Bucket: &l.Logs.Bucket, Key: &key, ContentType: aws.String("application/gzip")}, s3.WithPresignExpires(writeValid))
	if err != nil {
		return "", translate("sign link to "+key, err)
	}
	return r.URL, nil
}

// Output returns a link for writing an output file of the given size; a negative size means any.
func (l Links) Output(ctx context.Context, key string, size int64) (string, error) {
	if err := checkKey(key); err != nil {
		return "", err
	}
	in := &s3.PutObjectInput{Bucket: &l.Blobs.bucket, Key: &key}
	if size >= 0 {
		in.ContentLength = &size
	}
	r, err := l.Blobs.sign.PresignPutObject(ctx, in, s3.WithPresignExpires(writeValid))
	if err != nil {
		return "", translate("sign link to "+key, err)
	}
	return r.URL, nil
}

// Object returns a link for reading an object in any bucket.
func (l Links) Object(ctx context.Context, bucket, key string) (string, error) {
	r, err := l.Blobs.sign.PresignGetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: &key}, s3.WithPresignExpires(readValid))
	if err != nil {
		return "", translate("sign link to "+key, err)
	}
	return r.URL, nil
}

// Read reads an output file.
func (l Links) Read(ctx context.Context, key string) ([]byte, error) {
	r, size, err := l.Blobs.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if size > sandbox.MaxOutput {
		return nil, fmt.Errorf("%s has %d bytes, but at most %d are allowed", key, size, sandbox.MaxOutput)
	}
	return io.ReadAll(r)
}
