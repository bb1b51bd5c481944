package redshift

import (
	"context"
	"encoding/json"
	"io"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/aws"
)

// place is an object in S3, or a prefix of objects.
type place struct{ bucket, key string }

// asPlace reads s3://BUCKET/KEY.
func asPlace(uri string) (place, error) {
	bucket, key, found := strings.Cut(strings.TrimPrefix(uri, "s3://"), "/")
	if !found || bucket == "" {
		return place{}, param.Errorf("Illegal s3 path: %s", uri)
	}
	return place{bucket, key}, nil
}

func (w *task) objects(ctx context.Context, region string) (*s3.Client, error) {
	c, err := w.config(ctx, "s3", region)
	if err != nil {
		return nil, err
	}
	inPath := c.BaseEndpoint != nil // not AWS itself, so bucket names do not have to be host names
	return s3.NewFromConfig(c, func(o *s3.Options) { o.UsePathStyle = inPath }), nil
}

// clear deletes files that an earlier run wrote before it failed. It uses the keys from the secrets, because the copy's
// keys lack the permission.
func (w *task) clear(ctx context.Context, id string) error {
	if w.copy.clears == nil {
		return nil
	}
	at, err := w.copy.clears(id)
	if err != nil {
		return err
	}
	client, err := w.objects(ctx, "")
	if err != nil {
		return err
	}
	call := aws.Call{Operator: w.name, Doing: "delete what an earlier run wrote to s3://" + at.bucket + "/" + at.key, Needs: "s3:ListBucket and s3:DeleteObject"}
	pages := s3.NewListObjectsV2Paginator(client, &s3.ListObjectsV2Input{Bucket: &at.bucket, Prefix: &at.key})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return call.Failure(ctx, err)
		}
		if len(page.Contents) == 0 {
			continue
		}
		list := &types.Delete{Quiet: new(true)}
		for _, o := range page.Contents {
			list.Objects = append(list.Objects, types.ObjectIdentifier{Key: o.Key})
		}
		out, err := client.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: &at.bucket, Delete: list})
		if err != nil {
			return call.Failure(ctx, err)
		}
		if len(out.Errors) > 0 {
			return operators.Failf("%s>: can't %s: %s", w.name, call.Doing, *out.Errors[0].Message)
		}
	}
	return nil
}

// largestManifest limits how much of a file list is read, in bytes.
const largestManifest = 16 << 20

// listed returns the files named in a manifest, which COPY reads in addition to the manifest itself.
func (w *task) listed(ctx context.Context) ([]grant, error) {
	if !strings.HasPrefix(w.copy.manifest, "s3://") {
		return nil, nil
	}
	at, err := asPlace(w.copy.manifest)
	if err != nil {
		return nil, err
	}
	region, err := w.params.StringOr("region", "")
	if err != nil {
		return nil, err
	}
	client, err := w.objects(ctx, region)
	if err != nil {
		return nil, err
	}
	out, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: &at.bucket, Key: &at.key})
	if err != nil {
		return nil, aws.Call{Operator: w.name, Doing: "read the manifest " + w.copy.manifest, Needs: "s3:GetObject"}.Failure(ctx, err)
	}
	defer out.Body.Close()
	var manifest struct{ Entries []struct{ URL string } }
	if err := json.NewDecoder(io.LimitReader(out.Body, largestManifest)).Decode(&manifest); err != nil {
		return nil, operators.Causedf(err, "%s>: the manifest %s is not JSON of the form {\"entries\": [{\"url\": \"s3://...\"}]}: %v", w.name, w.copy.manifest, err)
	}
	var list []grant
	for _, e := range manifest.Entries {
		g, err := mayRead(e.URL)
		if err != nil {
			return nil, err
		}
		list = widened(list, g)
	}
	return list, nil
}

// widened keeps one grant per bucket, for the common prefix of all its keys: a policy must be short.
func widened(list []grant, g grant) []grant {
	for i, other := range list {
		if other.at.bucket == g.at.bucket {
			n := 0
			for n < min(len(other.at.key), len(g.at.key)) && other.at.key[n] == g.at.key[n] {
				n++
			}
			list[i].at.key = g.at.key[:n]
			return list
		}
	}
	return append(list, g)
}
