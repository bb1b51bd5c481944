package cloud

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	"zerodag/internal/embedded"
	"zerodag/internal/files"
	"zerodag/internal/host"
	"zerodag/internal/httpapi"
	"zerodag/internal/s3"
)

// slots are those of a host of one machine; what S3 signs needs no network.
func slots(t *testing.T, log *bytes.Buffer) *Uploads {
	t.Helper()
	e, err := embedded.Open(t.Context(), embedded.Options{Temp: t.TempDir(), Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	account := aws.Config{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("id", "key", "")}
	return &Uploads{Host: e.Host, Audit: e.DB, Store: s3.NewBlobs(account, "bucket"), Logger: slog.New(slog.NewJSONHandler(log, nil))}
}

// stored opens a slot and puts the project into it; it returns the slot's id.
func (u *Uploads) stored(t *testing.T, r host.PushRequest) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(folder+"/main.dig", []byte("+a:\n  echo>: x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := files.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if _, err := p.Pack(&archive, files.Packing{}); err != nil {
		t.Fatal(err)
	}
	place, err := u.OpenSlot(t.Context(), httpapi.Slot{PushRequest: r, Who: "ci", Size: int64(archive.Len()), PartSize: int64(archive.Len()), Sums: []string{"c3Vt"}})
	if err != nil {
		t.Fatal(err)
	}
	link, err := url.Parse(place.Parts[0].URL)
	if err != nil || link.Path != "/uploads/"+place.ID || !strings.Contains(link.Query().Get("X-Amz-SignedHeaders"), "content-length") ||
		!strings.Contains(place.Parts[0].URL+fmt.Sprint(place.Parts[0].Header), "c3Vt") {
		t.Errorf("the link is not for this upload only: %s (%v)", place.Parts[0].URL, err)
	}
	if err := u.Host.Blobs.Put(t.Context(), "uploads/"+place.ID, &archive, int64(archive.Len())); err != nil {
		t.Fatal(err)
	}
	return place.ID
}

// fixture is functions/upload/event.json about two slots.
func fixture(t *testing.T, first, second string) events.S3Event {
	t.Helper()
	text, err := os.ReadFile("../../functions/upload/event.json")
	if err != nil {
		t.Fatal(err)
	}
	var e events.S3Event
	if err := json.Unmarshal([]byte(strings.NewReplacer(strings.Repeat("a", 26), first, strings.Repeat("b", 26), second).Replace(string(text))), &e); err != nil {
		t.Fatal(err)
	}
	return e
}

// TestTake proves that each record stands for itself: one that makes the engine panic is
// told to its pusher and to Lambda, the others are registered as their slots say, and
// Lambda's second try changes nothing.
func TestTake(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	u := slots(t, &log)
	broken := u.stored(t, host.PushRequest{Site: 1, Project: "broken", Revision: "r"})
	good := u.stored(t, host.PushRequest{Site: 1, Project: "good", Revision: "r", UserInfo: param.New("token", "ci"), ScheduleFrom: time.Unix(1e9, 0)})
	unpack := u.Host.Unpack
	u.Host.Unpack = func(ctx context.Context, key string) (host.Archive, error) {
		if key == "uploads/"+broken {
			panic("a defect")
		}
		return unpack(ctx, key)
	}
	call := fixture(t, broken, good)
	err := u.Take(t.Context(), call)
	if err == nil || !strings.Contains(err.Error(), "register uploads/"+broken+": panic: a defect") || strings.Contains(err.Error(), good) {
		t.Errorf("Lambda is told %v", err)
	}
	o, err := u.Outcome(t.Context(), 1, broken)
	if err != nil || !o.Ended || o.Err == nil || o.Err.Code != 0 || strings.Contains(o.Err.Message, "defect") {
		t.Errorf("the pusher of the broken one is told %+v, %v", o, err)
	}
	o, err = u.Outcome(t.Context(), 1, good)
	if err != nil || o.Err != nil || o.Revision != "r" || o.Project == 0 {
		t.Fatalf("the pusher of the good one is told %+v, %v", o, err)
	}
	list, err := u.Host.Projects.Revisions(t.Context(), host.RevisionQuery{Site: 1, Project: o.Project})
	if err != nil || len(list) != 1 || list[0].Archive != "archives/"+good+".tar.gz" || string(param.AppendJSON(nil, list[0].UserInfo)) != `{"token":"ci"}` {
		t.Errorf("revisions: %+v, %v", list, err)
	}
	if err := u.Take(t.Context(), call); err != nil {
		t.Errorf("Lambda's second try: %v", err)
	}
	if _, err := u.Outcome(t.Context(), 2, good); !errors.Is(err, host.ErrNotFound) {
		t.Errorf("another site sees %v", err)
	}
	if n := strings.Count(log.String(), `"msg":"object is in no slot: nothing is done","upload":"not a+slot"`); n != 2 {
		t.Errorf("the key of the second record was read as another, or not at all:\n%s", &log)
	}
}

// TestTakeLate proves that a function whose time is short still says that it failed.
func TestTakeLate(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	u := slots(t, &log)
	id := u.stored(t, host.PushRequest{Project: "slow", Revision: "r"})
	u.Host.Unpack = func(ctx context.Context, _ string) (host.Archive, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(t.Context(), toSayWhy+50*time.Millisecond)
	defer cancel()
	if err := u.Take(ctx, fixture(t, id, "")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Lambda is told %v", err)
	}
	o, err := u.Outcome(t.Context(), 0, id)
	if err != nil || o.Err == nil || o.Err.Code != 0 {
		t.Errorf("the pusher is told %+v, %v", o, err)
	}
}

type projects = host.Projects // a name that is none of its methods

// rival lets somebody else be first with a push.
type rival struct {
	projects
	first func()
}

func (r *rival) Push(ctx context.Context, p host.Push) (host.Project, error) {
	if f := r.first; f != nil {
		r.first = nil
		f()
	}
	return r.projects.Push(ctx, p)
}

// TestTakeTwice proves that two calls for one upload that both find no revision make one,
// and that the later one does not take the archive away from it.
func TestTakeTwice(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	u := slots(t, &log)
	id := u.stored(t, host.PushRequest{Project: "p", Revision: "r"})
	call := fixture(t, id, "")
	take := func() {
		if err := u.Take(t.Context(), call); err != nil {
			t.Error(err)
		}
	}
	u.Host.Projects = &rival{u.Host.Projects, take}
	take()
	o, err := u.Outcome(t.Context(), 0, id)
	if err != nil || o.Err != nil || o.Project == 0 {
		t.Errorf("the pusher is told %+v, %v", o, err)
	}
	if n := strings.Count(log.String(), "upload is registered"); n != 2 {
		t.Errorf("%d calls registered it:\n%s", n, &log)
	}
	if r, _, err := u.Host.Blobs.Open(t.Context(), "archives/"+id+".tar.gz"); err != nil {
		t.Error(err)
	} else {
		r.Close()
	}
	other := u.stored(t, host.PushRequest{Project: "p", Revision: "s"})
	u.Host.Projects = &rival{u.Host.Projects, func() {
		if err := u.Take(t.Context(), fixture(t, u.stored(t, host.PushRequest{Project: "p", Revision: "s"}), "")); err != nil {
			t.Error(err)
		}
	}}
	if err := u.Take(t.Context(), fixture(t, other, "")); err != nil {
		t.Error(err)
	}
	if o, err := u.Outcome(t.Context(), 0, other); err != nil || o.Err == nil || o.Err.Code != host.Conflict {
		t.Errorf("who came second with another archive is told %+v, %v", o, err)
	}
}
