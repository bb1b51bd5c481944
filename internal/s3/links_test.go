package s3_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"zerodag/integration/localstack"
	"zerodag/internal/host"
	"zerodag/internal/s3"
	"zerodag/operators"
)

// signed computes the signature of a link again, with the SDK's signer, from the other parts of the link.
func signed(t *testing.T, u *url.URL, who aws.Credentials) string {
	t.Helper()
	at, err := time.Parse("20060102T150405Z", u.Query().Get("X-Amz-Date"))
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	for _, name := range []string{"X-Amz-Signature", "X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-SignedHeaders"} {
		q.Del(name)
	}
	plain := *u
	plain.RawQuery = q.Encode()
	r, err := http.NewRequest(http.MethodGet, plain.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }).PresignHTTP(t.Context(), who, r, "UNSIGNED-PAYLOAD", "s3", "eu-central-1", at)
	if err != nil {
		t.Fatal(err)
	}
	again, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return again.Query().Get("X-Amz-Signature")
}

// TestTextLink proves that a link for browsers is valid for minutes and requests headers for text, which its signature
// covers, and that there are no such links for logs without links.
func TestTextLink(t *testing.T) {
	t.Parallel()
	who := aws.Credentials{AccessKeyID: "AKID", SecretAccessKey: "SECRET"}
	c := aws.Config{Region: "eu-central-1", Credentials: credentials.NewStaticCredentialsProvider(who.AccessKeyID, who.SecretAccessKey, "")}
	logs := s3.NewLogs(c, s3.LogOptions{Bucket: "logs-of-main", AgentID: "agent"})
	file := host.LogFile{Name: "+w+a@0123456789abcdef.agent.log.gz", Direct: "https://bucket"}
	link, err := logs.TextLink(t.Context(), host.Attempt{ID: 4, Site: 1}, file)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"response-content-type": "text/plain; charset=utf-8", "response-content-encoding": "gzip", "response-content-disposition": "inline",
		"X-Amz-Expires": "600", "X-Amz-SignedHeaders": "host", "X-Amz-Algorithm": "AWS4-HMAC-SHA256"} {
		if got := u.Query().Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if u.Path[len(u.Path)-len("logs/1/4/"+file.Name):] != "logs/1/4/"+file.Name {
		t.Errorf("the link leads to %s", u.Path)
	}
	if got := u.Query().Get("X-Amz-Signature"); got == "" || got != signed(t, u, who) {
		t.Errorf("the signature %q is not that of the link", got)
	}
	q := u.Query()
	q.Set("response-content-type", "text/html")
	other := *u
	other.RawQuery = q.Encode()
	if signed(t, &other, who) == u.Query().Get("X-Amz-Signature") {
		t.Error("the signature does not cover the content type")
	}
	if link, err := s3.NewLogs(c, s3.LogOptions{Bucket: "b", NoLinks: true}).TextLink(t.Context(), host.Attempt{}, file); link != "" || err != nil {
		t.Errorf("logs without links: %q, %v", link, err)
	}
}

// store keeps the objects that are put, and counts the puts.
type store struct {
	mu      sync.Mutex
	objects map[string][]byte
	puts    int
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPut {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[r.URL.Path] = body
	s.puts++
	w.Header().Set("ETag", `"1"`)
}

// TestOneMember proves that a log that has ended is one gzip member, which browsers show completely, even if it was
// written in several pieces and continued in another object, and that this costs no additional put.
func TestOneMember(t *testing.T) {
	t.Parallel()
	s := &store{objects: map[string][]byte{}}
	server := httptest.NewServer(localstack.Judged(t, s))
	defer server.Close()
	c := aws.Config{Region: "eu-central-1", Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""), BaseEndpoint: &server.URL, RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired}
	logs := s3.NewLogs(c, s3.LogOptions{Bucket: "b", AgentID: "agent", Rotate: 150 << 10, Moment: time.Hour})
	l := logs.Open(operators.Identity{SiteID: 1, AttemptID: 4, TaskName: "+w+a"}, time.Now())
	text := 0
	for range 5 {
		piece := base64.StdEncoding.EncodeToString(random(60 << 10))
		text += len(piece)
		l.Echo(piece)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if len(s.objects) < 2 || s.puts != len(s.objects) {
		t.Errorf("%d puts of %d objects", s.puts, len(s.objects))
	}
	for path, object := range s.objects {
		r, err := gzip.NewReader(bytes.NewReader(object))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		r.Multistream(false)
		first, err := io.ReadAll(r)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		text -= len(first)
	}
	if text != 0 {
		t.Errorf("%d bytes of text are in no first member", text)
	}
}
