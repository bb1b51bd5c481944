package border

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"zerodag/internal/host"
)

// served returns a client for a server that reads each request to its end, because otherwise it would not notice when
// the client disconnects.
func served(t *testing.T, most time.Duration, client aws.HTTPClient, answer http.HandlerFunc) *sqs.Client {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	c := answered(aws.Config{Region: "us-east-1", BaseEndpoint: &s.URL, Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""), HTTPClient: client}, most)
	return sqs.NewFromConfig(c, func(o *sqs.Options) { o.Retryer = Retryer(3) })
}

// silent returns a client for a server that does not respond to the first calls.
func silent(t *testing.T, calls int64, most time.Duration, client aws.HTTPClient) *sqs.Client {
	t.Helper()
	var asked atomic.Int64
	return served(t, most, client, func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) <= calls {
			<-r.Context().Done()
			return
		}
		io.WriteString(w, queues)
	})
}

// queues is a valid response.
const queues = `{"QueueUrls":["there"]}`

// TestBrokenOff proves that a call is repeated if its response is cut off or stalls, and that a call that never gets a
// complete response may be retried, because its outcome is unknown.
func TestBrokenOff(t *testing.T) {
	t.Parallel()
	for _, stands := range []bool{false, true} {
		for _, broken := range []int64{2, 3} {
			var asked atomic.Int64
			client := served(t, 200*time.Millisecond, nil, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Length", strconv.Itoa(len(queues)))
				if asked.Add(1) > broken {
					io.WriteString(w, queues)
					return
				}
				io.WriteString(w, queues[:8])
				if stands {
					http.NewResponseController(w).Flush()
					<-r.Context().Done()
				}
			})
			out, err := client.ListQueues(t.Context(), nil)
			if broken < 3 && (err != nil || len(out.QueueUrls) != 1) {
				t.Errorf("%d answers broke off: %v", broken, err)
			}
			if err = Translate("list", err); broken == 3 && !errors.Is(err, host.ErrUnavailable) {
				t.Errorf("all answers broke off: %v", err)
			}
		}
	}
}

// TestAnswered proves that a call is repeated if its connection stays open but no response comes, and that a call that
// never gets a response fails with a retryable error instead of waiting forever.
func TestAnswered(t *testing.T) {
	t.Parallel()
	for name, client := range map[string]aws.HTTPClient{"none": nil, "the usual one": awshttp.NewBuildableClient()} {
		out, err := silent(t, 2, 50*time.Millisecond, client).ListQueues(t.Context(), nil)
		if err != nil || len(out.QueueUrls) != 1 {
			t.Errorf("client %s: %v, %v", name, out, err)
		}
		if _, err = silent(t, 3, 50*time.Millisecond, client).ListQueues(t.Context(), nil); !errors.Is(Translate("list", err), host.ErrUnavailable) {
			t.Errorf("client %s: three calls without an answer: %v", name, err)
		}
	}
}

// TestAnsweredInTime proves that the caller's deadline still applies, and that a client set by the caller is not
// replaced.
func TestAnsweredInTime(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := silent(t, 1, time.Hour, nil).ListQueues(ctx, nil)
	if err = Translate("list", err); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, host.ErrUnavailable) {
		t.Errorf("the caller's time was over: %v", err)
	}
	own := &http.Client{}
	if c := Answered(aws.Config{HTTPClient: own}); c.HTTPClient != own {
		t.Errorf("another client is asked: %v", c.HTTPClient)
	}
}

// TestClientsAreAnswered proves that none of the drivers' clients waits forever for a response. There are two
// exceptions: a call to Lambda lasts as long as the command, and administrators see the calls that their commands make
// and can end them.
func TestClientsAreAnswered(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	deeper, err := filepath.Glob("../*/*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, deeper...)
	clients := 0
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		own := strings.HasSuffix(name, "_test.go") || slices.Contains([]string{"lambda", "account"}, filepath.Base(filepath.Dir(name)))
		for line := range strings.Lines(string(text)) {
			if own || !strings.Contains(line, ".NewFromConfig(") {
				continue
			}
			if clients++; !strings.Contains(line, ".NewFromConfig(border.Answered(c),") {
				t.Errorf("%s: %s", name, strings.TrimSpace(line))
			}
		}
	}
	if clients < 8 {
		t.Errorf("only %d clients were found", clients)
	}
}
