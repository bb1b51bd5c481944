package api_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tinylib/msgp/msgp"

	"zerodag/engine/param"
	"zerodag/operators/td/api"
)

// client returns a client for a service that gives every request the same response.
func client(t testing.TB, answer http.HandlerFunc) *api.Client {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return &api.Client{HTTP: s.Client(), Base: s.URL, Key: "key"}
}

// canned responds without a network, which would be too slow for a fuzz test.
type canned struct {
	status  int
	content []byte
}

func (c canned) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: c.status, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(c.content))}, nil
}

func answering(status int, content []byte) *api.Client {
	return &api.Client{HTTP: &http.Client{Transport: canned{status, content}}, Base: "http://td.invalid", Key: "key"}
}

func zipped(content []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(content)
	z.Close()
	return b.Bytes()
}

// rowsOf returns the rows of the content, as JSON.
func rowsOf(c *api.Client) (string, error) {
	var all []string
	err := c.Rows(context.Background(), "1", taker(func(row []param.Value) (bool, error) {
		all = append(all, param.Text(row))
		return true, nil
	}))
	return strings.Join(all, "\n"), err
}

// TestRows checks how each MessagePack type is read, and the errors about other content.
func TestRows(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"": "", "\x90": "[]", "\x91\xc0\x91\xc3": "[null]\n[true]", "\x92\x7f\xe0": "[127,-32]", "\x91\xcf\xff\xff\xff\xff\xff\xff\xff\xff": "[18446744073709551615]",
		"\x91\xcf\x7f\xff\xff\xff\xff\xff\xff\xff": "[9223372036854775807]", "\x91\xd3\x80\x00\x00\x00\x00\x00\x00\x00": "[-9223372036854775808]",
		"\x91\xca\x3f\x80\x00\x00": "[1.0]", "\x91\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00": "[1.5]", "\x91\xa3a\"b": `["a\"b"]`, "\x91\xc4\x02hi": `["hi"]`,
		"\x91\x92\x01\x91\x02": "[[1,[2]]]", "\x91\x82\xa1a\x01\x02\xc0": `[{"a":1,"2":null}]`,
	} {
		if got, err := rowsOf(answering(200, zipped([]byte(content)))); got != want || err != nil {
			t.Errorf("%q: %s, %v, want %s", content, got, err, want)
		}
	}
	for content, want := range map[string]string{
		"\x01": "a row is not an array", "\xd4": "it ends in the middle of a row", "\x92\x01": "it ends in the middle of a row", "\x91\xc1": "unrecognized type prefix", "\x91\xdb\xff\xff\xff\xffa": "limit exceeded",
		"\x91\xc6\xff\xff\xff\xffa": "limit exceeded", "\x91\xdd\xff\xff\xff\xff": "it ends in the middle of a row", "\x91\xc7\x02\x05ab": "which results cannot contain",
		strings.Repeat("\x91", 200): "nested deeper than 100", "\x91\xd6\xff\x00\x00\x00\x00": "which results cannot contain",
		"\x91\xdb\x01\xff\xff\xff" + strings.Repeat("a", 10): "it ends in the middle of a row", "\xdd\x00\x0f\xff\xff" + strings.Repeat("\xd9\x80"+strings.Repeat("a", 128), 1<<19): "a row is longer than 64 MiB",
	} {
		_, err := rowsOf(answering(200, zipped([]byte(content))))
		var unreadable *api.Unreadable
		if !errors.As(err, &unreadable) || !strings.Contains(err.Error(), want) || api.Temporary(err) {
			t.Errorf("%.40q: %v, want %s", content, err, want)
		}
	}
	whole := zipped([]byte("\x91\x01\x91\x02\x91\x03"))
	if _, err := rowsOf(answering(200, whole[:len(whole)-6])); err == nil || !strings.Contains(err.Error(), "cannot be read: ") {
		t.Errorf("a stream that is not whole: %v", err)
	}
	own := errors.New("enough")
	if err := answering(200, whole).Rows(t.Context(), "1", taker(func([]param.Value) (bool, error) { return true, own })); !errors.Is(err, own) || err.Error() != "enough" {
		t.Errorf("an error of the reader is reported as %v", err)
	}
}

// FuzzRows checks that no result causes a panic, and that the library's own reader agrees on which rows are complete.
func FuzzRows(f *testing.F) {
	for _, seed := range []string{"", "\x90", "\x92\x01\xa1a", "\x91\xdb\xff\xff\xff\xff", "\x91\x81\xa1a\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		rows, err := rowsOf(answering(200, zipped(content)))
		if err != nil {
			return
		}
		m, n := msgp.NewReader(bytes.NewReader(content)), 0
		for m.Skip() == nil {
			n++
		}
		if got := len(strings.Split(rows, "\n")); rows == "" && n != 0 || rows != "" && got != n {
			t.Errorf("%q: %d rows are read, the library finds %d", content, got, n)
		}
	})
}

// FuzzAnswers checks that no JSON from the service causes a panic, and that errors have a single form.
func FuzzAnswers(f *testing.F) {
	f.Add(200, []byte(`{"job_id": 1, "status": "success", "hive_result_schema": "[[\"a\", \"b\"]]", "num_records": 3}`))
	f.Add(409, []byte(`{"text": "x", "details": {"conflicts_with": 7}}`))
	f.Add(500, []byte(`<html>`))
	f.Fuzz(func(t *testing.T, status int, content []byte) {
		status = 200 + min(max(status, 0), 599)%400
		c := answering(status, content)
		c.HTTP.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		_, submitted := c.Submit(t.Context(), api.Job{Type: "presto", Database: "d"})
		_, looked := c.JobStatus(t.Context(), "1")
		_, shown := c.JobInfo(t.Context(), "1")
		_, saved := c.RunSaved(t.Context(), "n", time.Unix(0, 0), "k")
		_, listed := c.HasTable(t.Context(), "d", "t")
		for _, err := range []error{submitted, looked, shown, saved, listed} {
			if err != nil && !strings.HasPrefix(err.Error(), "[") && !strings.HasPrefix(err.Error(), "Treasure Data is not responding: ") {
				t.Errorf("%d %q: %v", status, content, err)
			}
		}
	})
}

// TestErrors checks the messages of Digdag's client, the kinds of errors, and which errors are permanent.
func TestErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status              int
		content, want, kind string
		temporary           bool
	}{
		{400, `{"error":"a","text":"b"}`, "[CLIENT_ERROR] [400:Bad Request] API request to /v3/job/status/1 has failed: b", "td client http", false},
		{401, ``, "[AUTHENTICATION_FAILURE] [401:Unauthorized] API request to /v3/job/status/1 has failed", "td client http unauthorized", false},
		{403, `no`, "[CLIENT_ERROR] [403:Forbidden] API request to /v3/job/status/1 has failed: no", "td client http", false},
		{404, `{"error":"a"}`, "[TARGET_NOT_FOUND] [404:Not Found] API request to /v3/job/status/1 has failed: a", "td client http not found", false},
		{407, ``, "[PROXY_AUTHENTICATION_FAILURE] [407:Proxy Authentication Required] API request to /v3/job/status/1 has failed", "td client http", false},
		{408, ``, "[CLIENT_ERROR] [408:Request Timeout] API request to /v3/job/status/1 has failed", "td client http", true},
		{409, `{"message":"m"}`, "[TARGET_ALREADY_EXISTS] [409:Conflict] API request to /v3/job/status/1 has failed: m", "td client http conflict", false},
		{422, `{}`, "[INVALID_INPUT] [422:Unprocessable Entity] API request to /v3/job/status/1 has failed", "td client http", false},
		{429, `{`, "[CLIENT_ERROR] [429:Too Many Requests] API request to /v3/job/status/1 has failed: {", "td client http too many requests", true},
		{503, `<p>`, "[SERVER_ERROR] [503:Service Unavailable] API request to /v3/job/status/1 has failed: <p>", "td client http", true},
		{304, ``, "[UNEXPECTED_RESPONSE_CODE] [304:Not Modified] API request to /v3/job/status/1 has failed", "td client http", true},
		{200, `{"status":1}`, "[INVALID_JSON_RESPONSE] the response of Treasure Data to /v3/job/status/1 cannot be read: it is not the expected JSON: json: cannot unmarshal number into Go struct field jobStatus.status of type string", "td client", false},
		{200, `{}`, "[INVALID_JSON_RESPONSE] the response of Treasure Data to /v3/job/status/1 cannot be read: it has no status", "td client", false},
	} {
		_, err := answering(c.status, []byte(c.content)).JobStatus(t.Context(), "1")
		var kind interface{ Kind() string }
		if err == nil || err.Error() != c.want || api.Temporary(err) != c.temporary || !errors.As(err, &kind) || kind.Kind() != c.kind {
			t.Errorf("%d %s: %v", c.status, c.content, err)
		}
	}
}

// TestKey checks how a key is sent, and that no error contains it.
func TestKey(t *testing.T) {
	t.Parallel()
	naked := "1/0123456789abcdef0123456789abcdef01234567"
	for key, want := range map[string]string{naked: "TD1 " + naked, naked[2:]: "TD1 " + naked[2:], "TD1 " + naked: "TD1 " + naked, "Bearer x": "Bearer x"} {
		got := ""
		c := client(t, func(w http.ResponseWriter, r *http.Request) {
			got = r.Header.Get("Authorization")
			w.WriteHeader(http.StatusForbidden)
		})
		c.Key = key
		if err := c.Kill(t.Context(), "1"); got != want || err == nil || strings.Contains(err.Error(), key) {
			t.Errorf("%s is sent as %q: %v", key, got, err)
		}
	}
}

// TestSilence checks that a call is abandoned if the service sends nothing or stops in the middle, but not if the
// service is only slow.
func TestSilence(t *testing.T) {
	t.Parallel()
	for _, begin := range []string{"", `{"status": `} {
		c := client(t, func(w http.ResponseWriter, r *http.Request) {
			w.Write([]byte(begin))
			http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})
		c.Silence = 50 * time.Millisecond
		if _, err := c.JobStatus(t.Context(), "1"); err == nil || !api.Temporary(err) || !strings.HasSuffix(err.Error(), "GET /v3/job/status/1: the service does not respond for 50ms") {
			t.Errorf("after %q: %v", begin, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	c := client(t, func(_ http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() })
	if err := c.Kill(ctx, "1"); !errors.Is(err, context.Canceled) {
		t.Errorf("the end of a context is reported as %v", err)
	}
}

// TestLongAnswer checks that the length of a response is limited.
func TestLongAnswer(t *testing.T) {
	t.Parallel()
	c := answering(200, append([]byte(`{"status":"`), bytes.Repeat([]byte("a"), 65<<20)...))
	if _, err := c.JobStatus(t.Context(), "1"); err == nil || !strings.HasSuffix(err.Error(), "cannot be read: it is longer than 64 MiB") {
		t.Errorf("%.100v", err)
	}
}

// TestConflict checks that the job that already has a key is found, and that a conflict that names no job is reported.
func TestConflict(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{`{"details":{"conflicts_with":7}}`: "7", `{"details":{"conflicts_with":"8"}}`: "8", `{"details":{}}`: "", `{"details":{"conflicts_with":[]}}`: ""} {
		id, err := answering(409, []byte(content)).Submit(t.Context(), api.Job{Type: "hive", Database: "d"})
		if id != want || (want == "") != api.Is(err, http.StatusConflict) {
			t.Errorf("%s: %q, %v", content, id, err)
		}
	}
}

// taker returns a function that returns the same Taker each time.
func taker(take api.Taker) func() (api.Taker, error) {
	return func() (api.Taker, error) { return take, nil }
}
