package uploads

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"zerodag/engine/param"
	"zerodag/internal/catalogue"
	"zerodag/internal/files"
	"zerodag/internal/host"
	"zerodag/internal/node"
	"zerodag/internal/projectfiles"
	"zerodag/internal/s3"
	"zerodag/internal/sqlite"
)

// projects gives the port a name that differs from its methods' names.
type projects interface{ host.Projects }

// deployment is a single-node deployment with parts that tests replace.
type deployment struct {
	*Uploads
	projects
	unpack func(ctx context.Context, key string) (host.Archive, error)
	first  func() // makes a push before the tested one, once
}

// Push implements host.Projects.
func (d *deployment) Push(ctx context.Context, p host.Push) (host.Project, error) {
	if f := d.first; f != nil {
		d.first = nil
		f()
	}
	return d.projects.Push(ctx, p)
}

// slots returns the slots of a single-node deployment; signing for S3 needs no network.
func slots(t *testing.T, log *bytes.Buffer) *deployment {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	db, err := sqlite.Open(t.Context(), sqlite.Options{Migrate: true})
	must(err)
	t.Cleanup(func() { must(db.Close()) })
	blobs, err := files.NewBlobs(t.TempDir())
	must(err)
	spaces, err := files.NewWorkspaces(t.TempDir(), 0, projectfiles.Limits{}, func(ctx context.Context, key string) (io.ReadCloser, error) {
		r, _, err := blobs.Open(ctx, key)
		return r, err
	})
	must(err)
	t.Cleanup(func() { must(spaces.Close()) })
	d := &deployment{projects: db, unpack: func(ctx context.Context, key string) (host.Archive, error) { return spaces.Archive(ctx, key) }}
	n := node.New(node.Options{Ports: host.Ports{Log: db, Events: db.Queue("events"), Tasks: db.Queue("tasks"), Projects: d, Workflows: db, Schedules: db, Attempts: db, Sessions: db,
		Blobs: blobs, Secrets: db, Unpack: func(ctx context.Context, key string) (host.Archive, error) { return d.unpack(ctx, key) }}})
	account := aws.Config{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("id", "key", "")}
	d.Uploads = &Uploads{Registrar: n, Blobs: blobs, Audit: db, Signer: s3.NewBlobs(account, "bucket"), Now: time.Now, Logger: slog.New(slog.NewJSONHandler(log, nil))}
	return d
}

// stored opens a slot and puts the project into it; it returns the slot's id.
func (u *deployment) stored(t *testing.T, r catalogue.PushRequest) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(folder+"/main.dig", []byte("+a:\n  echo>: x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := projectfiles.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if _, err := p.Pack(&archive, projectfiles.Packing{}); err != nil {
		t.Fatal(err)
	}
	place, err := u.OpenSlot(t.Context(), Slot{PushRequest: r, Who: "ci", Size: int64(archive.Len()), PartSize: int64(archive.Len()), Sums: []string{"c3Vt"}})
	if err != nil {
		t.Fatal(err)
	}
	link, err := url.Parse(place.Parts[0].URL)
	if err != nil || link.Path != "/uploads/"+place.ID || !strings.Contains(link.Query().Get("X-Amz-SignedHeaders"), "content-length") ||
		!strings.Contains(place.Parts[0].URL+fmt.Sprint(place.Parts[0].Header), "c3Vt") {
		t.Errorf("the link is not for this upload only: %s (%v)", place.Parts[0].URL, err)
	}
	if err := u.Blobs.Put(t.Context(), "uploads/"+place.ID, &archive, int64(archive.Len())); err != nil {
		t.Fatal(err)
	}
	return place.ID
}

// fixture returns the keys in functions/upload/event.json, for two slots.
func fixture(t *testing.T, first, second string) []string {
	t.Helper()
	text, err := os.ReadFile("../../functions/upload/event.json")
	if err != nil {
		t.Fatal(err)
	}
	var e events.S3Event
	if err := json.Unmarshal([]byte(strings.NewReplacer(strings.Repeat("a", 26), first, strings.Repeat("b", 26), second).Replace(string(text))), &e); err != nil {
		t.Fatal(err)
	}
	keys := make([]string, len(e.Records))
	for i, r := range e.Records {
		keys[i] = r.S3.Object.URLDecodedKey
	}
	return keys
}

// TestRegister proves that records are independent: one that makes the engine panic is reported to its pusher and to
// Lambda, the others are registered as their slots describe, and Lambda's retry changes nothing.
func TestRegister(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	u := slots(t, &log)
	broken := u.stored(t, catalogue.PushRequest{Site: 1, Project: "broken", Revision: "r"})
	good := u.stored(t, catalogue.PushRequest{Site: 1, Project: "good", Revision: "r", UserInfo: param.New("token", "ci"), ScheduleFrom: time.Unix(1e9, 0)})
	unpack := u.unpack
	u.unpack = func(ctx context.Context, key string) (host.Archive, error) {
		if key == "uploads/"+broken {
			panic("a defect")
		}
		return unpack(ctx, key)
	}
	call := fixture(t, broken, good)
	err := u.Register(t.Context(), call...)
	if err == nil || !strings.Contains(err.Error(), "register uploads/"+broken+": panic: a defect") || strings.Contains(err.Error(), good) {
		t.Errorf("Lambda is told %v", err)
	}
	o, err := u.Outcome(t.Context(), Owner{Site: 1}, broken)
	if err != nil || !o.Ended || o.Err == nil || o.Err.Code != 0 || strings.Contains(o.Err.Message, "defect") {
		t.Errorf("the pusher of the broken one is told %+v, %v", o, err)
	}
	o, err = u.Outcome(t.Context(), Owner{Site: 1}, good)
	if err != nil || o.Err != nil || o.Revision != "r" || o.Project == 0 {
		t.Fatalf("the pusher of the good one is told %+v, %v", o, err)
	}
	list, err := u.projects.Revisions(t.Context(), host.RevisionQuery{Site: 1, Project: o.Project})
	if err != nil || len(list) != 1 || list[0].Archive != "archives/"+good+".tar.gz" || string(param.AppendJSON(nil, list[0].UserInfo)) != `{"token":"ci"}` {
		t.Errorf("revisions: %+v, %v", list, err)
	}
	if err := u.Register(t.Context(), call...); err != nil {
		t.Errorf("Lambda's second try: %v", err)
	}
	if _, err := u.Outcome(t.Context(), Owner{Site: 2}, good); !errors.Is(err, host.ErrNotFound) {
		t.Errorf("another site sees %v", err)
	}
	if n := strings.Count(log.String(), `"msg":"object is in no slot: ignored","upload":"not a+slot"`); n != 2 {
		t.Errorf("the key of the second record was read as another, or not at all:\n%s", &log)
	}
}

// TestRegisterLate proves that a function that runs out of time still reports that it failed.
func TestRegisterLate(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	u := slots(t, &log)
	id := u.stored(t, catalogue.PushRequest{Project: "slow", Revision: "r"})
	u.unpack = func(ctx context.Context, _ string) (host.Archive, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(t.Context(), toSayWhy+50*time.Millisecond)
	defer cancel()
	if err := u.Register(ctx, fixture(t, id, "")...); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Lambda is told %v", err)
	}
	o, err := u.Outcome(t.Context(), Owner{Site: 0}, id)
	if err != nil || o.Err == nil || o.Err.Code != 0 {
		t.Errorf("the pusher is told %+v, %v", o, err)
	}
}

// TestRegisterTwice proves that two calls for one upload that both find no revision make only one, and that the later
// call does not remove its archive.
func TestRegisterTwice(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	u := slots(t, &log)
	id := u.stored(t, catalogue.PushRequest{Project: "p", Revision: "r"})
	call := fixture(t, id, "")
	take := func() {
		if err := u.Register(t.Context(), call...); err != nil {
			t.Error(err)
		}
	}
	u.first = take
	take()
	o, err := u.Outcome(t.Context(), Owner{Site: 0}, id)
	if err != nil || o.Err != nil || o.Project == 0 {
		t.Errorf("the pusher is told %+v, %v", o, err)
	}
	if n := strings.Count(log.String(), "upload registered"); n != 2 {
		t.Errorf("%d calls registered it:\n%s", n, &log)
	}
	if r, _, err := u.Blobs.Open(t.Context(), "archives/"+id+".tar.gz"); err != nil {
		t.Error(err)
	} else {
		r.Close()
	}
	other := u.stored(t, catalogue.PushRequest{Project: "p", Revision: "s"})
	u.first = func() {
		if err := u.Register(t.Context(), fixture(t, u.stored(t, catalogue.PushRequest{Project: "p", Revision: "s"}), "")...); err != nil {
			t.Error(err)
		}
	}
	if err := u.Register(t.Context(), fixture(t, other, "")...); err != nil {
		t.Error(err)
	}
	if o, err := u.Outcome(t.Context(), Owner{Site: 0}, other); err != nil || o.Err == nil || o.Err.Code != host.Conflict {
		t.Errorf("who came second with another archive is told %+v, %v", o, err)
	}
}
