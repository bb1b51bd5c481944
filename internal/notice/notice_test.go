package notice_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/host"
	"zerodag/internal/notice"
)

var failed = host.Notice{Message: "Workflow session attempt failed", Revision: "r1", Task: "+main^failure-alert",
	Attempt: host.Attempt{ID: 7, SessionID: 3, Project: host.Ref{ID: 1, Name: "p"}, Workflow: host.Ref{ID: 5, Name: "main"},
		Zone: "Asia/Tokyo", SessionTime: time.Date(2024, 1, 1, 15, 0, 0, 0, time.UTC), SessionUUID: "u"}}

const wantJSON = `{"timestamp":"2024-02-03T04:05:06.000Z","message":"Workflow session attempt failed","site_id":0,"project_id":1,` +
	`"project_name":"p","workflow_name":"main","revision":"r1","attempt_id":7,"session_id":3,"task_name":"+main^failure-alert",` +
	`"timezone":"Asia/Tokyo","session_uuid":"u","session_time":"2024-01-02T00:00:00+09:00","workflow_definition_id":5}`

func now() time.Time { return time.Date(2024, 2, 3, 4, 5, 6, 0, time.UTC) }

// TestHTTP proves that the body is Digdag's, that headers are sent, and that a status outside 2xx is a failure that is
// retried.
func TestHTTP(t *testing.T) {
	t.Parallel()
	var bodies []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		bodies = append(bodies, r.Method+" "+r.Header.Get("X-Key")+" "+string(text))
		if len(bodies) < 3 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer server.Close()
	n := notice.New(notice.HTTP{URL: server.URL, Method: "PUT", Headers: map[string]string{"X-Key": "k"}},
		notice.Options{Retries: 5, Shortest: time.Nanosecond, Now: now})
	if err := n.Notify(t.Context(), failed); err != nil {
		t.Fatal(err)
	}
	if len(bodies) != 3 || bodies[0] != "PUT k "+wantJSON || bodies[2] != bodies[0] {
		t.Errorf("got %q", bodies)
	}
}

// TestFailureInNotice proves that the fields about a failure come after Digdag's fields.
func TestFailureInNotice(t *testing.T) {
	t.Parallel()
	n := failed
	n.Failure = &host.Failure{Task: "+main+b", Message: "no", Lines: []string{"one", "two"}}
	want := strings.TrimSuffix(wantJSON, "}") + `,"failed_task":"+main+b","error":"no","last_lines":"one\ntwo","resume":"zerodag retry 7 --latest-revision --resume"}`
	if got := string(param.AppendJSON(nil, notice.Fields(n, now()))); got != want {
		t.Errorf("got %s", got)
	}
	n.Failure.Tasks = []param.Value{param.New("task", "+main+b", "message", "no"), param.New("task", "+main+c", "message", "no, too")}
	want = strings.Replace(want, `,"last_lines"`, `,"failed_tasks":[{"task":"+main+b","message":"no"},{"task":"+main+c","message":"no, too"}],"last_lines"`, 1)
	if got := string(param.AppendJSON(nil, notice.Fields(n, now()))); got != want {
		t.Errorf("got %s", got)
	}
}

// TestErrorsOfANoticeTellNoAddress proves that no error contains an address that may hold a key, because any user who
// starts an attempt can read the error.
func TestErrorsOfANoticeTellNoAddress(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	defer server.Close()
	for _, address := range []string{server.URL, "http://127.0.0.1:1", "nosuch://host", "http://[::1"} {
		_, err := notice.HTTP{URL: address + "/hooks/secret-path?key=secret-key"}.Send(t.Context(), param.New())
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

type failing struct{ tries *[]time.Time }

func (f failing) Send(context.Context, *param.Map) (string, error) {
	*f.tries = append(*f.tries, time.Now())
	return "", errors.New("no")
}

// TestRetries checks how often a delivery is tried and how long it waits, and that it ends with its context.
func TestRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var tries []time.Time
		n := notice.New(failing{&tries}, notice.Options{Retries: 4, Shortest: time.Second, Longest: 3 * time.Second, Now: now})
		if err := n.Notify(t.Context(), failed); err == nil {
			t.Error("want the last failure")
		}
		var waits []time.Duration
		for i := range tries[1:] {
			waits = append(waits, tries[i+1].Sub(tries[i]))
		}
		if len(waits) != 4 || waits[0] != time.Second || waits[1] != 2*time.Second || waits[2] != 3*time.Second || waits[3] != 3*time.Second {
			t.Errorf("waits %v", waits)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		if err := n.Notify(ctx, failed); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

// TestShell proves that the command gets the notice on stdin, and that the delivery fails if the command fails or does
// not end.
func TestShell(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "out")
	fields := notice.Fields(failed, now())
	if _, err := (notice.Shell{Command: "cat > '" + file + "'"}).Send(t.Context(), fields); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(file); string(text) != wantJSON {
		t.Errorf("got %s", text)
	}
	for command, want := range map[string]string{"exit 3": "exit status 3", "sleep 100": "it did not finish within 50ms"} {
		_, err := notice.Shell{Command: command, Timeout: 50 * time.Millisecond}.Send(t.Context(), fields)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", command, err, want)
		}
	}
}

// TestRedirectOfANoticeTellsNoAddress (B7) proves that the server that a notice is redirected to
// does not learn the URL of the configuration, which may hold a token.
func TestRedirectOfANoticeTellsNoAddress(t *testing.T) {
	t.Parallel()
	told := make(chan string, 1)
	to := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { told <- r.Header.Get("Referer") }))
	defer to.Close()
	from := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, to.URL, http.StatusTemporaryRedirect)
	}))
	defer from.Close()
	if _, err := (notice.HTTP{URL: from.URL + "/?token=SECRET"}).Send(t.Context(), notice.Fields(failed, now())); err != nil {
		t.Fatal(err)
	}
	if referer := <-told; referer != "" {
		t.Errorf("told %q", referer)
	}
}

// TestNoticeNamesTheProgram proves that the command in a notice uses the name by which the program was called.
func TestNoticeNamesTheProgram(t *testing.T) {
	t.Parallel()
	for program, want := range map[string]string{"": "zerodag retry ", "digdag": "digdag retry "} {
		var got []*param.Map
		failedTask := failed
		failedTask.Failure = &host.Failure{Task: "+main+a"}
		if err := notice.New(kept{&got}, notice.Options{Now: now, Program: program}).Notify(t.Context(), failedTask); err != nil {
			t.Fatal(err)
		}
		if text, _ := got[0].Get("resume"); text != want+"7 --latest-revision --resume" {
			t.Errorf("called %q: got %v", program, text)
		}
	}
}

// kept keeps the sent notices.
type kept struct{ fields *[]*param.Map }

func (k kept) Send(_ context.Context, fields *param.Map) (string, error) {
	*k.fields = append(*k.fields, fields)
	return "", nil
}

// TestSignature proves that a receiver with the secret can check that a request is from this server and new, and that
// an error contains neither the secret nor a header of the configuration.
func TestSignature(t *testing.T) {
	t.Parallel()
	status, signed := http.StatusOK, false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mac := hmac.New(sha256.New, []byte("the secret"))
		mac.Write([]byte(r.Header.Get("X-Zerodag-Timestamp") + "." + string(body)))
		signed = r.Header.Get("X-Zerodag-Signature") == "sha256="+hex.EncodeToString(mac.Sum(nil)) && r.Header.Get("X-Zerodag-Timestamp") == "1706933106"
		w.WriteHeader(status)
		io.WriteString(w, "wrong "+r.Header.Get("Authorization"))
	}))
	defer server.Close()
	h := notice.HTTP{URL: server.URL, Secret: "the secret", Headers: map[string]string{"Authorization": "Bearer of-the-configuration"}, Now: now}
	if answer, err := h.Send(t.Context(), notice.Fields(failed, now())); err != nil || answer != "200 OK" || !signed {
		t.Errorf("answer %q, signed: %v, %v", answer, signed, err)
	}
	status = http.StatusUnauthorized
	if _, err := h.Send(t.Context(), notice.Fields(failed, now())); err == nil || strings.Contains(err.Error(), "Bearer") || !strings.Contains(err.Error(), "401 Unauthorized: wrong") {
		t.Errorf("a refusal: %v", err)
	}
}
