package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"zerodag/internal/border"
	"zerodag/internal/host"
)

func uploadOf(r *v4.PresignedHTTPRequest) host.UploadLink {
	up := host.UploadLink{URL: r.URL, Header: map[string]string{}}
	for name, values := range r.SignedHeader {
		if !strings.EqualFold(name, "host") && !strings.EqualFold(name, "content-length") {
			up.Header[http.CanonicalHeaderKey(name)] = strings.Join(values, ",")
		}
	}
	return up
}

// UploadLink signs the upload of an object of the given size. sum is its SHA-256 in base64: S3 refuses any other
// content.
func (b *Blobs) UploadLink(ctx context.Context, key string, size int64, sum string, valid time.Duration) (host.UploadLink, error) {
	if err := checkKey(key); err != nil {
		return host.UploadLink{}, err
	}
	r, err := b.sign.PresignPutObject(ctx, &s3.PutObjectInput{Bucket: &b.bucket, Key: &key, ContentLength: aws.Int64(size),
		ChecksumAlgorithm: types.ChecksumAlgorithmSha256, ChecksumSHA256: &sum}, s3.WithPresignExpires(valid))
	if err != nil {
		return host.UploadLink{}, translate("sign upload of "+key, err)
	}
	return uploadOf(r), nil
}

// BeginParts begins the upload of an object in parts, and signs each part. S3 accepts only the announced content. A
// rule of the bucket removes unfinished uploads.
func (b *Blobs) BeginParts(ctx context.Context, key string, parts []host.Part, valid time.Duration) (id string, links []host.UploadLink, err error) {
	if err := checkKey(key); err != nil {
		return "", nil, err
	}
	up, err := b.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: &b.bucket, Key: &key, ChecksumAlgorithm: types.ChecksumAlgorithmSha256})
	if err != nil {
		return "", nil, translate("begin upload of "+key, err)
	}
	for i, p := range parts {
		r, err := b.sign.PresignUploadPart(ctx, &s3.UploadPartInput{Bucket: &b.bucket, Key: &key, UploadId: up.UploadId, PartNumber: aws.Int32(int32(i + 1)),
			ContentLength: aws.Int64(p.Size), ChecksumAlgorithm: types.ChecksumAlgorithmSha256, ChecksumSHA256: aws.String(p.Sum)}, s3.WithPresignExpires(valid))
		if err != nil {
			return "", nil, translate("sign upload of "+key, err)
		}
		links = append(links, uploadOf(r))
	}
	return *up.UploadId, links, nil
}

// CompleteParts assembles an object. tags holds the ETag that S3 returned for each part. Repeating it changes nothing.
// A *host.Error with the code Invalid means that parts are missing.
func (b *Blobs) CompleteParts(ctx context.Context, key, id string, parts []host.Part, tags []string) error {
	if len(tags) != len(parts) {
		return &host.Error{Code: host.Invalid, Message: fmt.Sprintf("The upload has %d parts, but %d tags were sent", len(parts), len(tags))}
	}
	list := make([]types.CompletedPart, len(parts))
	for i, p := range parts {
		list[i] = types.CompletedPart{PartNumber: aws.Int32(int32(i + 1)), ETag: &tags[i], ChecksumSHA256: aws.String(p.Sum)}
	}
	_, err := b.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{Bucket: &b.bucket, Key: &key, UploadId: &id,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: list}})
	switch border.Code(err) {
	case "NoSuchUpload": // completed before, or too long ago
		if there, e := b.Has(ctx, key); there || e != nil {
			return e
		}
		return &host.Error{Code: host.Missing, Message: "The upload is no longer open: start a new one"}
	case "InvalidPart", "InvalidPartOrder", "EntityTooSmall", "BadDigest", "InvalidRequest":
		return &host.Error{Code: host.Invalid, Message: "The parts of the upload are not complete: " + err.Error()}
	}
	return translate("complete upload of "+key, err)
}

// Has reports whether a blob exists.
func (b *Blobs) Has(ctx context.Context, key string) (bool, error) {
	if err := checkKey(key); err != nil {
		return false, err
	}
	_, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.bucket, Key: &key})
	if err = translate("look up "+key, err); errors.Is(err, host.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
