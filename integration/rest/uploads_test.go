package rest_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/internal/client"
	"zerodag/internal/host"
	"zerodag/internal/httpapi"
	"zerodag/internal/httpapi/access"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/uploads"
)

// depot is a store next to the server that takes uploads by link, like S3: it accepts only the announced content, and
// calls the upload function whenever an object is complete.
type depot struct {
	*httptest.Server
	uploads *uploads.Uploads
	told    func(key string)

	mu    sync.Mutex
	parts map[string][]byte // by path of the link
	whole map[string]bool   // keys of complete objects
	fail  int               // the number of requests answered with 503
}

// serveUploads is serve with slots. Unless quiet, every object is announced twice, the second time before the first
// call ends.
func serveUploads(t *testing.T, options httpapi.Options, quiet bool) (*running, *depot) {
	t.Helper()
	d := &depot{parts: map[string][]byte{}, whole: map[string]bool{}, uploads: &uploads.Uploads{Now: time.Now, Logger: slog.New(slog.DiscardHandler)}}
	d.uploads.Signer, options.Uploads = d, d.uploads
	d.Server = httptest.NewServer(http.HandlerFunc(d.put))
	server := serve(t, options)
	if server.deployed() {
		d.Close()
		return server, nil
	}
	d.uploads.Registrar, d.uploads.Blobs, d.uploads.Audit = server.engine, server.engine.Blobs, server.engine.DB
	var running sync.WaitGroup
	d.told = func(key string) {
		for range 2 {
			if !quiet {
				running.Go(func() { d.take(t, key) })
			}
		}
	}
	t.Cleanup(func() { d.Close(); running.Wait() })
	return server, d
}

// local skips a test of something that a deployed stack does itself: integration/stack proves it there.
func (d *depot) local(t *testing.T) {
	t.Helper()
	if d == nil {
		t.Skip("SKIPPED: the uploads of a deployed stack are tested in integration/stack")
	}
}

// take calls the upload function. It does not use the test's context, because the call may outlive the test.
func (d *depot) take(t *testing.T, key string) {
	if err := d.uploads.Register(context.Background(), key); err != nil {
		t.Error(err)
	}
}

func (d *depot) put(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	fail := d.fail > 0
	d.fail--
	d.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	sum := sha256.Sum256(body)
	switch {
	case fail:
		http.Error(w, "<Code>SlowDown</Code>", http.StatusServiceUnavailable)
		return
	case err != nil || r.Header.Get("Authorization") != "" || base64.StdEncoding.EncodeToString(sum[:]) != r.Header.Get("X-Sum") || r.URL.Query().Get("sum") != r.Header.Get("X-Sum"):
		http.Error(w, "<Code>BadDigest</Code>", http.StatusBadRequest)
		return
	}
	w.Header().Set("ETag", `"`+r.URL.Path+`"`)
	key, _, inParts := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "@")
	if inParts {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.parts[r.URL.Path] = body
		return
	}
	if err := d.store(r.Context(), key, body); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

func (d *depot) store(ctx context.Context, key string, b []byte) error {
	d.mu.Lock()
	d.whole[key] = true
	d.mu.Unlock()
	err := d.uploads.Blobs.Put(ctx, key, bytes.NewReader(b), int64(len(b)))
	d.told(key)
	return err
}

func (d *depot) UploadLink(_ context.Context, key string, _ int64, sum string, _ time.Duration) (host.UploadLink, error) {
	return host.UploadLink{URL: d.URL + "/" + key + "?sum=" + strings.NewReplacer("+", "%2B", "/", "%2F", "=", "%3D").Replace(sum), Header: map[string]string{"X-Sum": sum}}, nil
}

func (d *depot) BeginParts(ctx context.Context, key string, parts []host.Part, valid time.Duration) (string, []host.UploadLink, error) {
	var links []host.UploadLink
	for i, p := range parts {
		l, err := d.UploadLink(ctx, fmt.Sprintf("%s@%d", key, i), p.Size, p.Sum, valid)
		if err != nil {
			return "", nil, err
		}
		links = append(links, l)
	}
	return "parts of " + key, links, nil
}

func (d *depot) CompleteParts(ctx context.Context, key, id string, parts []host.Part, tags []string) error {
	d.mu.Lock()
	var whole []byte
	for _, tag := range tags {
		whole = append(whole, d.parts[strings.Trim(tag, `"`)]...)
	}
	d.mu.Unlock()
	if id != "parts of "+key || len(tags) != len(parts) {
		return &host.Error{Code: host.Invalid, Message: "not all parts"}
	}
	return d.store(ctx, key, whole)
}

func (d *depot) Has(ctx context.Context, key string) (bool, error) {
	r, _, err := d.uploads.Blobs.Open(ctx, key)
	if errors.Is(err, host.ErrNotFound) {
		return false, nil
	}
	if err == nil {
		err = r.Close()
	}
	return err == nil, err
}

// announce describes a future archive.
func announce(archive []byte) string {
	sum := sha256.Sum256(archive)
	return fmt.Sprintf(`{"size":%d,"sha256":[%q]}`, len(archive), base64.StdEncoding.EncodeToString(sum[:]))
}

// open requests a slot and returns its id and the request for the archive.
func (c caller) open(query string, archive []byte) (string, *http.Request) {
	c.t.Helper()
	slot := c.must(http.MethodPost, "/api/uploads?"+query, announce(archive))
	part := slot["parts"].([]any)[0].(object)
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodPut, part["url"].(string), bytes.NewReader(archive))
	if err != nil {
		c.t.Fatal(err)
	}
	for name, value := range part["headers"].(object) {
		r.Header.Set(name, value.(string))
	}
	return slot["id"].(string), r
}

// upload pushes by slot and waits for the result.
func (c caller) upload(query string, archive []byte) object {
	c.t.Helper()
	id, r := c.open(query, archive)
	put(c.t, r)
	return c.outcome(id)
}

// put sends a request, and may be called again for the same one.
func put(t *testing.T, r *http.Request) {
	t.Helper()
	var err error
	if r.Body, err = r.GetBody(); err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("the store answers %s", answer.Status)
	}
}

func (c caller) outcome(id string) object {
	c.t.Helper()
	for range 3000 {
		if o := c.must(http.MethodGet, "/api/uploads/"+id, nil); o["status"] == "done" || o["status"] == "failed" {
			return o
		}
		time.Sleep(5 * time.Millisecond) // polls, like clients of this API
	}
	c.t.Fatalf("no answer says what became of upload %s", id)
	return nil
}

// TestUpload checks that a push by slot gives the same response as a push by a request, whether it succeeds or fails,
// and that the audit log names the caller that requested the slot.
func TestUpload(t *testing.T) {
	t.Parallel()
	server, d := serveUploads(t, httpapi.Options{Auth: access.Auth{Required: true}}, false)
	d.local(t)
	admin := caller{server, t, server.token(t, 3, "admin")}
	for name, archive := range map[string][]byte{
		"right": server.project(), "wrong": archive(map[string]string{"a.dig": "+a:\n  echo>: x\n+b: [\n"}), "escape": archive(map[string]string{"../../etc/passwd": "x"}),
		"absolute": archive(map[string]string{"/etc/passwd": "x"}), "no archive": []byte("nothing of the kind"), "many": archive(many(10_001)), "bomb": bomb(t),
	} {
		query := "schedule_from=2030-01-01T00:00:00Z&revision=r&project="
		direct := admin.call(http.MethodPut, "/api/projects?"+query+"direct-"+strings.ReplaceAll(name, " ", "-"), archive)
		o := admin.upload(query+"slot-"+strings.ReplaceAll(name, " ", "-"), archive)
		var want object
		if err := json.Unmarshal(direct.content, &want); err != nil {
			t.Fatal(err)
		}
		if direct.status != http.StatusOK {
			if diff := cmp.Diff(want, o["error"]); diff != "" || o["status"] != "failed" || o["project"] != nil {
				t.Errorf("%s: %s", name, diff)
			}
			continue
		}
		got, _ := o["project"].(object)
		for _, key := range []string{"id", "name", "createdAt", "updatedAt"} {
			delete(got, key)
			delete(want, key)
		}
		if diff := cmp.Diff(want, got); diff != "" || o["error"] != nil {
			t.Errorf("%s: %s %v", name, diff, o["error"])
		}
	}
	records := map[string]int{}
	for _, r := range admin.must(http.MethodGet, "/api/audit", nil)["audits"].([]any) {
		r := r.(object)
		records[fmt.Sprint(r["who"], " ", r["action"], " ", r["target"])]++
	}
	if n := records["admin push project slot-right revision r"]; n < 1 || len(records) != 2 {
		t.Errorf("audit log: %v", records)
	}
	from := admin.must(http.MethodGet, "/api/schedules", nil)["schedules"].([]any)[1].(object)["nextRunTime"]
	if from != "2030-01-01T07:00:00Z" {
		t.Errorf("the schedule begins at %v: the request of the slot was lost", from)
	}
}

// bomb returns an archive that unpacks to more than is allowed.
func bomb(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Name: "zeros", Mode: 0o644, Size: 1<<30 + 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(w, zeros{}, 1<<20); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func many(n int) map[string]string {
	m := map[string]string{}
	for i := range n {
		m[fmt.Sprint("file", i)] = ""
	}
	return m
}

// TestUploadOnce checks that a slot pushes once, whatever S3 announces and however often, that another slot cannot push
// the same revision, and that an object without a slot is ignored.
func TestUploadOnce(t *testing.T) {
	t.Parallel()
	server, d := serveUploads(t, httpapi.Options{}, true)
	d.local(t)
	c := caller{server, t, ""}
	first, _ := c.open("project=p&revision=r", server.project())
	if o := c.must(http.MethodGet, "/api/uploads/"+first, nil); o["status"] != "waiting" {
		t.Errorf("before the upload: %v", o)
	}
	d.take(t, "uploads/"+first) // about a missing object: S3 never sends this, but it must not be answered as a push
	second, again := c.open("project=p&revision=r", server.project())
	put(t, again)
	if o := c.must(http.MethodGet, "/api/uploads/"+second, nil); o["status"] != "working" {
		t.Errorf("after the upload: %v", o)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { d.take(t, "uploads/"+second) })
	}
	all.Wait()
	if o := c.outcome(second); o["status"] != "done" {
		t.Errorf("told of eight times: %v", o)
	}
	// A crash between the revision and the response: the function is called again.
	if err := d.uploads.Blobs.Delete(t.Context(), "results/"+second); err != nil {
		t.Fatal(err)
	}
	d.take(t, "uploads/"+second)
	if o := c.outcome(second); o["status"] != "done" {
		t.Errorf("after a crash: %v", o)
	}
	put(t, again) // the link still works, for the same archive
	d.take(t, "uploads/"+second)
	third, r3 := c.open("project=p&revision=r", server.project())
	put(t, r3)
	d.take(t, "uploads/"+third)
	if o := c.outcome(third); o["status"] != "failed" || o["error"].(object)["status"] != 409.0 {
		t.Errorf("another slot for the revision: %v", o)
	}
	if list := c.must(http.MethodGet, "/api/projects/1/revisions", nil)["revisions"].([]any); len(list) != 1 {
		t.Errorf("%d revisions", len(list))
	}
	if a := c.call(http.MethodGet, "/api/projects/1/archive", nil); a.status != http.StatusOK || !bytes.Equal(a.content, server.project()) {
		t.Errorf("the archive of the revision: %d, %d bytes", a.status, len(a.content))
	}
	for _, key := range []string{"uploads/nobody", "uploads/" + strings.Repeat("a", 26), "slots/" + second, "uploads/../slots/x"} {
		d.take(t, key)
	}
}

// TestUploadRefused checks which slots are refused, and that a server without slots answers with a remedy.
func TestUploadRefused(t *testing.T) {
	t.Parallel()
	server, d := serveUploads(t, httpapi.Options{Limits: httpapi.Limits{Archive: 10, Upload: 20 << 20}}, true)
	d.local(t)
	c := caller{server, t, ""}
	sum := base64.StdEncoding.EncodeToString(make([]byte, 32))
	for body, want := range map[string]string{
		`{}`: "size=", `{"size":0}`: "size=", `{"size":20971521,"sha256":["x"]}`: "exceeds limit (20971520 bytes)", `{"size":5}`: "one checksum for each of 1 parts",
		`{"size":5,"sha256":["abc"]}`: "is not a SHA-256 checksum in base64", `{"size":20000000,"partSize":1,"sha256":["` + sum + `"]}`: "at least 5242880",
		`{"size":5,"partSize":-1,"sha256":["` + sum + `"]}`: "at least", `{"size":20000000,"partSize":10000000,"sha256":["` + sum + `"]}`: "2 parts",
	} {
		if a := c.call(http.MethodPost, "/api/uploads?project=p&revision=r", body); a.status != http.StatusBadRequest || !strings.Contains(string(a.content), want) {
			t.Errorf("%s: %d %s, want %s", body, a.status, a.content, want)
		}
	}
	for _, query := range []string{"project=p", "revision=r", "project=a/b&revision=r", "project=p&revision=r&schedule_from=x"} {
		if a := c.call(http.MethodPost, "/api/uploads?"+query, announce(server.project())); a.status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", query, a.status, a.content)
		}
	}
	if a := c.call(http.MethodPut, "/api/projects?project=p&revision=r", server.project()); a.status != http.StatusRequestEntityTooLarge || !strings.Contains(string(a.content), "zerodag push") {
		t.Errorf("a request that is too large: %d %s", a.status, a.content)
	}
	id, _ := c.open("project=p&revision=r", server.project())
	if a := c.call(http.MethodPost, "/api/uploads/"+id+"/complete", `{"tags":["x"]}`); a.status != http.StatusBadRequest {
		t.Errorf("complete one part: %d %s", a.status, a.content)
	}
	plain := caller{serve(t, httpapi.Options{}), t, ""}
	if a := plain.call(http.MethodPost, "/api/uploads?project=p&revision=r", announce(plain.project())); a.status != http.StatusNotFound || !strings.Contains(string(a.content), "PUT /api/projects") {
		t.Errorf("a server without slots: %d %s", a.status, a.content)
	}
	for _, x := range []caller{c, plain} {
		if offered := x.call(http.MethodGet, "/api/version/check?client=1", nil).header.Get(endpoint.UploadsHeader) != ""; offered == (x == plain) {
			t.Errorf("slots offered: %v", offered)
		}
	}
}

// TestUploadClient checks that zerodag's client uploads through slots if the server offers them, in one part or
// several, retries when the store is busy, and shows errors as a direct push does.
func TestUploadClient(t *testing.T) {
	t.Parallel()
	server, d := serveUploads(t, httpapi.Options{Auth: access.Auth{Required: true}, Limits: httpapi.Limits{Archive: 4 << 20, Upload: 200 << 20}}, false)
	d.local(t)
	var done []int64
	var mu sync.Mutex
	c, err := client.New(client.Options{Endpoint: server.URL, Header: http.Header{"Authorization": {"Bearer " + server.token(t, 0, "admin")}},
		Progress: func(n, _ int64) { mu.Lock(); done = append(done, n); mu.Unlock() },
		Wait:     func(ctx context.Context, d time.Duration) error { time.Sleep(d / 20); return ctx.Err() }})
	if err != nil {
		t.Fatal(err)
	}
	push := func(revision string, archive []byte) error {
		p, err := c.Push(t.Context(), client.Push{Project: "p", Revision: revision}, bytes.NewReader(archive), int64(len(archive)))
		if err == nil && (p.Revision != revision || p.Name != "p") {
			t.Errorf("%+v", p)
		}
		return err
	}
	if err := push("unasked", server.project()); err != nil {
		t.Error(err)
	}
	if n := len(d.whole); n != 0 {
		t.Errorf("%d uploads to a server that did not offer them yet", n)
	}
	large := archive(map[string]string{"main.dig": "+a:\n  echo>: x\n", "data": noise(101_000_000)})
	d.fail = 3
	if err := push("large", large); err != nil { // 413, then in parts
		t.Error(err)
	}
	if got := slices.Max(done); got != int64(len(large)) || done[len(done)-1] != got {
		t.Errorf("progress ended at %d of %d", done[len(done)-1], len(large))
	}
	if _, err := c.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := push("offered", server.project()); err != nil {
		t.Error(err)
	}
	if n := len(d.whole); n != 2 || len(d.parts) != 7 {
		t.Errorf("%d uploads, %d parts", n, len(d.parts))
	}
	if err := push("offered", server.project()); !client.IsConflict(err) {
		t.Errorf("the revision again: %v", err)
	}
	var status *client.StatusError
	wrong := archive(map[string]string{"a.dig": "+a:\n  echo>: x\n+b: [\n"})
	if err := push("wrong", wrong); !errors.As(err, &status) || status.Status != 400 || !strings.Contains(status.Body, `"message":"a.dig:`) {
		t.Errorf("a wrong project: %v", err)
	}
	d.fail = 1 << 30
	if err := push("busy", server.project()); err == nil || !strings.Contains(err.Error(), "upload archive to 127.0.0.1") || strings.Contains(err.Error(), "sum=") {
		t.Errorf("a store that is always busy: %v", err)
	}
}

// noise returns text that cannot be compressed.
func noise(n int) string {
	b := make([]byte, n)
	seed := sha256.Sum256([]byte("noise"))
	for i := 0; i < n; i += copy(b[i:], seed[:]) {
		seed = sha256.Sum256(seed[:])
	}
	return string(b)
}
