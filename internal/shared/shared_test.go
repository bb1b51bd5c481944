package shared_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"zerodag/integration/localstack"
	"zerodag/internal/host"
	"zerodag/internal/postgres"
	"zerodag/internal/shared"
	"zerodag/operators"
	database "zerodag/operators/operatortest/postgres"
)

// open opens the stores that servers share, in a separate schema, until the test ends.
func open(t *testing.T, server database.Server, schema string, o shared.Options) (host.Blobs, host.Logs, func(context.Context, []host.Attempt) error) {
	t.Helper()
	o.Database = postgres.Options{URL: fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s?sslmode=disable", database.User, server.Port, database.Database), Schema: schema, Migrate: true, Connections: 3}
	s, err := shared.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Store.Close() })
	return s.Blobs, s.Logs, s.RemoveLogs
}

// used proves that an archive and a log stored by one server can be read by another, and that they can be removed. It
// calls the function there to check that they are in the right place.
func used(t *testing.T, server database.Server, o shared.Options, there func() []string) {
	t.Helper()
	schema := "s" + strings.ToLower(strings.ReplaceAll(t.Name(), "/", "_"))
	blobs, logs, remove := open(t, server, schema, o)
	others, otherLogs, _ := open(t, server, schema, o)
	ctx, text := t.Context(), []byte("an archive")
	if err := blobs.Put(ctx, "archives/1/a", bytes.NewReader(text), int64(len(text))); err != nil {
		t.Fatal(err)
	}
	r, size, err := others.Open(ctx, "archives/1/a")
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	r.Close()
	if err != nil || size != int64(len(text)) || !bytes.Equal(got, text) {
		t.Errorf("another server reads %q of %d bytes (%v)", got, size, err)
	}
	a := host.Attempt{ID: 7, Site: 1, Project: host.Ref{ID: 1, Name: "p"}, Workflow: host.Ref{ID: 1, Name: "w"}, SessionTime: time.Unix(0, 0).UTC(), Zone: "UTC", CreatedAt: time.Unix(0, 0).UTC()}
	log := logs.Open(operators.Identity{SiteID: 1, ProjectID: 1, Workflow: "w", AttemptID: 7, TaskName: "+w+a", SessionTime: a.SessionTime, Zone: a.Zone}, a.CreatedAt)
	log.Echo("said")
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := otherLogs.Files(ctx, a, "")
	if err != nil || len(files) != 1 || (files[0].Direct != "") != (o.Logs.Bucket != nil && o.Logs.Bucket.Links) {
		t.Fatalf("another server finds the logs %+v (%v)", files, err)
	}
	link, err := others.Link(ctx, "archives/1/a", time.Minute)
	if err != nil || (link != "") != (o.Archives.Bucket != nil && o.Archives.Bucket.Links) {
		t.Errorf("the archive's link is %q (%v)", link, err)
	}
	list := there()
	if there := len(list); there != 2 {
		t.Errorf("there are %q, and not an archive and a log", list)
	}
	for range 2 {
		if err := remove(ctx, []host.Attempt{a}); err != nil {
			t.Fatal(err)
		}
	}
	if files, err := otherLogs.Files(ctx, a, ""); err != nil || len(files) != 0 {
		t.Errorf("after they were removed there are the logs %+v (%v)", files, err)
	}
	if err := others.Delete(ctx, "archives/1/a"); err != nil {
		t.Error(err)
	}
	if list := there(); len(list) != 0 {
		t.Errorf("what was removed is there: %q", list)
	}
}

// TestFolder proves that servers can keep archives and logs in folders that all of them see.
func TestFolder(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	used(t, database.Start(t), shared.Options{Archives: shared.Place{Folder: folder + "/archives"}, Logs: shared.Place{Folder: folder + "/logs"}}, func() (list []string) {
		filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				list = append(list, path)
			}
			return err
		})
		return list
	})
}

// TestBucket proves that servers can keep archives and logs in part of a bucket, with and without links for clients.
func TestBucket(t *testing.T) {
	t.Parallel()
	c := localstack.Config(t)
	server := database.Start(t)
	client := awss3.NewFromConfig(c, func(o *awss3.Options) { o.UsePathStyle = true })
	name := localstack.Name()
	if _, err := client.CreateBucket(t.Context(), &awss3.CreateBucketInput{Bucket: &name}); err != nil {
		t.Fatal(err)
	}
	localstack.Cleanup(t, func(ctx context.Context) error {
		_, err := client.DeleteBucket(ctx, &awss3.DeleteBucketInput{Bucket: &name})
		return err
	})
	for what, links := range map[string]bool{"links": true, "none": false} {
		t.Run(what, func(t *testing.T) {
			b := &shared.Bucket{Name: name, Folder: "in/" + what + "/", Endpoint: localstack.Endpoint(), AccessKeyID: "test", SecretAccessKey: "test", Links: links}
			used(t, server, shared.Options{Archives: shared.Place{Bucket: b}, Logs: shared.Place{Bucket: b}}, func() (list []string) {
				page, err := client.ListObjectsV2(t.Context(), &awss3.ListObjectsV2Input{Bucket: &name, Prefix: aws.String(b.Folder)})
				if err != nil {
					t.Fatal(err)
				}
				for _, o := range page.Contents {
					list = append(list, *o.Key)
				}
				return list
			})
		})
	}
}
