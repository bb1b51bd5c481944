package s3

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"
)

const (
	largestCopy = 5 << 30 // the most that S3 copies in one call
	copyPart    = 1 << 30
	mostParts   = 10000
)

// copier copies objects within S3. Repeating a copy replaces it with an identical one.
type copier struct {
	client      *s3.Client
	large, part int64 // the size above which objects are copied in parts, and the size of the parts
}

func (c copier) copy(ctx context.Context, from, to place, size int64) error {
	if size > c.large {
		return c.copyParts(ctx, from, to, size)
	}
	_, err := c.client.CopyObject(ctx, &s3.CopyObjectInput{Bucket: &to.bucket, Key: &to.key, CopySource: new(from.source())})
	return err
}

// copyParts copies a large object with its metadata. An incomplete copy is removed after a failure, since it would be
// billed.
func (c copier) copyParts(ctx context.Context, from, to place, size int64) error {
	head, err := c.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &from.bucket, Key: &from.key})
	if err != nil {
		return err
	}
	upload, err := c.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: &to.bucket, Key: &to.key,
		CacheControl: head.CacheControl, ContentDisposition: head.ContentDisposition, ContentEncoding: head.ContentEncoding,
		ContentLanguage: head.ContentLanguage, ContentType: head.ContentType, Metadata: head.Metadata})
	if err != nil {
		return err
	}
	parts, err := c.parts(ctx, from, to, *upload.UploadId, head)
	if err == nil {
		_, err = c.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{Bucket: &to.bucket, Key: &to.key, UploadId: upload.UploadId,
			MultipartUpload: &types.CompletedMultipartUpload{Parts: parts}})
	}
	if err == nil {
		return nil
	}
	_, left := c.client.AbortMultipartUpload(context.WithoutCancel(ctx), &s3.AbortMultipartUploadInput{Bucket: &to.bucket, Key: &to.key, UploadId: upload.UploadId})
	if left != nil {
		return fmt.Errorf("%w (and the incomplete copy could not be removed: %w)", err, left)
	}
	return err
}

// parts copies ranges from one version of the object: a different ETag is an error.
func (c copier) parts(ctx context.Context, from, to place, upload string, head *s3.HeadObjectOutput) ([]types.CompletedPart, error) {
	size := *head.ContentLength
	part := max(c.part, (size+mostParts-1)/mostParts)
	list := make([]types.CompletedPart, (size+part-1)/part)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range list {
		first := int64(i) * part
		last := min(first+part, size) - 1
		number := int32(i + 1)
		group.Go(func() error {
			out, err := c.client.UploadPartCopy(ctx, &s3.UploadPartCopyInput{Bucket: &to.bucket, Key: &to.key, UploadId: &upload, PartNumber: &number,
				CopySource: new(from.source()), CopySourceIfMatch: head.ETag, CopySourceRange: new(fmt.Sprintf("bytes=%d-%d", first, last))})
			if err == nil {
				list[i] = types.CompletedPart{ETag: out.CopyPartResult.ETag, PartNumber: &number}
			}
			return err
		})
	}
	return list, group.Wait()
}
