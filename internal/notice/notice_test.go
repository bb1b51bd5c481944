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
	"sync/atomic"
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

// TestRetries checks how many times a delivery is tried and how long it waits, and that it ends with its context.
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

// TestRedirect proves that a redirect is a refusal that names the host of the new address and no secret, and that
// neither host gets a second request.
func TestRedirect(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	to := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer to.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		for location, want := range map[string]string{to.URL + "/new/TOKEN1?key=TOKEN1": " redirects to " + to.URL + " (status ", "http://user:TOKEN1@other.example.com/x": " redirects to http://other.example.com (status ",
			"/TOKEN1": " redirects to http://127.0.0.1:", "": "responded with ", "http://TOKEN1%zz": " redirects (status "} {
			from := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				requests.Add(1)
				if location != "" {
					w.Header().Set("Location", location)
				}
				w.WriteHeader(status)
			}))
			_, err := notice.HTTP{URL: from.URL + "/?token=SECRET", Headers: map[string]string{"Authorization": "Bearer SECRET2"}}.Send(t.Context(), notice.Fields(failed, now()))
			from.Close()
			var refused *notice.Refusal
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), from.URL) || !strings.Contains(err.Error(), want) || strings.ContainsAny(err.Error(), "\x1b\n") ||
				strings.Contains(err.Error(), "SECRET") || strings.Contains(err.Error(), "TOKEN1") || location != "" && (!refused.Permanent || !strings.Contains(err.Error(), "configure the address that it redirects to")) {
				t.Errorf("%d to %q: %v", status, location, err)
			}
		}
	}
	if n := requests.Load(); n != 25 {
		t.Errorf("%d requests, want one for each of 25 deliveries", n)
	}
}

// TestMasking proves that errors contain no secret of the request in any form in which a receiver can quote it, even
// where the response is cut off, and that users see no control characters from a response.
func TestMasking(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("tokABCDEFGHIJKLMNOPQRSTUVWXYZ", 8) // half of one fits into the shown part
	answer := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		if r.URL.Path == "/basic" {
			answer = r.Header.Get("Authorization")
		}
		io.WriteString(w, answer)
	}))
	defer server.Close()
	h := notice.HTTP{URL: strings.Replace(server.URL, "http://", "http://robot-user:pass%2Fword@", 1) + "/hook", Secret: "signing-key", Headers: map[string]string{"Authorization": "Bearer " + long, "X-Key": "short abc"}}
	for text, want := range map[string]string{
		"no: Bearer " + long:                                                      ": no: ***",
		"the token " + long + " is wrong":                                         ": the token *** is wrong",
		"user robot-user, pass/word or pass%2Fword":                               ": user ***, *** or ***",
		"Basic cm9ib3QtdXNlcjpwYXNzL3dvcmQ=":                                      ": Basic ***",
		"the key signing-key is not abc":                                          ": the key *** is not abc",
		strings.Repeat("x", 490) + long + "end":                                   "x***end",
		strings.Repeat("x", 480) + long + long[:9]:                                "***tokABCDEF",
		strings.Repeat(long, 16<<10/len(long)+1):                                  "******",
		"a\x1b[31mb\x00c\r\nd\te\u009b2J" + long[:3] + "\x07" + long[3:] + "\xff": ": a[31mbc d e2J***?",
	} {
		answer = text
		_, err := h.Send(t.Context(), notice.Fields(failed, now()))
		if err == nil || !strings.Contains(err.Error(), "400 Bad Request: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, want %q", text, err, want)
		}
		if len(text) > 16<<10 && strings.Trim(strings.SplitN(err.Error(), "Request: ", 2)[1], "*") != "" {
			t.Errorf("the end of a long answer: %q", err)
		}
	}
	h.Headers, h.URL = nil, strings.Replace(h.URL, "/hook", "/basic", 1)
	if _, err := h.Send(t.Context(), notice.Fields(failed, now())); err == nil || !strings.HasSuffix(err.Error(), ": Basic ***") || answer != "Basic cm9ib3QtdXNlcjpwYXNzL3dvcmQ=" {
		t.Errorf("the user of the URL: %q, %v", answer, err)
	}
}

// TestStatusOfTheReceiver proves that users never see the text that a receiver sends with its status.
func TestStatusOfTheReceiver(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{"200 \x1b]0;title\x07SECRET": "200 OK", "202 Fine": "202 Accepted", "299 Odd": "299", "404 SECRET": "", "garbage \x1b[2J": "", "200 OK\r\nbad\x1bheader": ""} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			io.WriteString(conn, "HTTP/1.1 "+line+"\r\nContent-Length: 0\r\n\r\n")
		}))
		answer, err := notice.HTTP{URL: server.URL}.Send(t.Context(), notice.Fields(failed, now()))
		server.Close()
		if answer != want || (err == nil) != (want != "") || err != nil && (strings.Contains(err.Error(), "SECRET") || strings.Contains(err.Error(), "\x1b")) {
			t.Errorf("%q: %q, %v", line, answer, err)
		}
	}
}

// TestRetryAfter proves that a receiver may ask for a pause in seconds or until a time by its own clock or ours.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	const header = http.TimeFormat
	theirs := time.Date(2031, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		after, date    string
		least, longest time.Duration
	}{
		{"1.5", "", 1500 * time.Millisecond, 1500 * time.Millisecond},
		{theirs.Add(7 * time.Minute).Format(header), theirs.Format(header), 7 * time.Minute, 7 * time.Minute},
		{theirs.Add(48 * time.Hour).Format(header), theirs.Format(header), time.Hour, time.Hour},
		{theirs.Format(header), theirs.Add(time.Second).Format(header), 0, 0},
		{time.Now().UTC().Add(30 * time.Minute).Format(header), "", 20 * time.Minute, 30 * time.Minute},
		{"soon", "", 0, 0},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Date"] = nil
			if c.date != "" {
				w.Header().Set("Date", c.date)
			}
			w.Header().Set("Retry-After", c.after)
			w.WriteHeader(http.StatusTooManyRequests)
		}))
		_, err := notice.HTTP{URL: server.URL}.Send(t.Context(), notice.Fields(failed, now()))
		server.Close()
		var refused *notice.Refusal
		if !errors.As(err, &refused) || refused.After < c.least || refused.After > c.longest {
			t.Errorf("%+v: %+v", c, refused)
		}
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
