package attemptview

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/internal/client"
)

// logServer shows an attempt whose log files grow from poll to poll.
type logServer struct {
	polls []map[string]string // text by file name "task.n"; if it does not end in "\n", its last line is cut off
	n     int
}

func (s *logServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := s.polls[min(s.n, len(s.polls)-1)]
	switch {
	case r.URL.Path == "/api/attempts/1":
		fmt.Fprintf(w, `{"id":"1","done":%t}`, s.n >= len(s.polls)-1)
	case strings.HasSuffix(r.URL.Path, "/files"):
		var list []string
		for _, name := range slices.Sorted(maps.Keys(now)) {
			task, at, _ := strings.Cut(name, ".")
			list = append(list, fmt.Sprintf(`{"fileName":%q,"taskName":%q,"fileSize":%d,"fileTime":"2024-01-01T00:00:0%sZ","direct":null}`, name, task, len(now[name]), at))
		}
		fmt.Fprintf(w, `{"files":[%s]}`, strings.Join(list, ","))
	default:
		text := now[strings.TrimPrefix(r.URL.Path, "/api/logs/1/files/")]
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		io.WriteString(z, text)
		z.Flush()
		if strings.HasSuffix(text, "\n") {
			z.Close()
		}
		w.Write(b.Bytes()) // without Close, the file may end anywhere, like one that is still being written
	}
}

func readLog(t *testing.T, s *logServer, o LogOptions) string {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	next := func(context.Context, time.Duration) error { s.n++; return nil }
	connection, err := client.New(client.Options{Endpoint: server.URL, Wait: next})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(connection.Close)
	var out bytes.Buffer
	o.Out = &out
	if err := NewLogReader(connection, o).Read(t.Context(), "1", ""); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestLogFollow proves that each line is shown once and whole, no matter when the files are read, including a last line
// without a newline.
func TestLogFollow(t *testing.T) {
	t.Parallel()
	s := &logServer{polls: []map[string]string{
		{},
		{"+a.1": "one\ntw"},
		{"+a.1": "one\ntw"},
		{"+a.1": "one\ntwo\nthree\n", "+b.2": "b1\n"},
		{"+a.1": "one\ntwo\nthree\n", "+a.3": "a3\n", "+b.2": "b1\nb2\n"},
		{"+a.1": "one\ntwo\nthree\n", "+a.3": "a3\nlast", "+b.2": "b1\nb2\n"},
	}}
	if diff := cmp.Diff("one\ntwo\nthree\nb1\nb2\na3\nlast\n", readLog(t, s, LogOptions{Follow: true, Plain: true})); diff != "" {
		t.Error(diff)
	}
}

// TestLogFollowShowsOpenLines proves that users see an unfinished line if nothing was added to it by the next poll, and
// the rest of it later.
func TestLogFollowShowsOpenLines(t *testing.T) {
	t.Parallel()
	open := map[string]string{"+a.1": "one\ntw"}
	s := &logServer{polls: []map[string]string{open, open, open, {"+a.1": "one\ntwo\n", "+b.2": "b"}, {"+a.1": "one\ntwo\nthree", "+b.2": "b"}, {"+a.1": "one\ntwo\nthree\n", "+b.2": "b\n"}, {}}}
	if diff := cmp.Diff("+a | one\n+a | tw\n+a | o\n+b | b\n+a | three\n", readLog(t, s, LogOptions{Follow: true})); diff != "" {
		t.Error(diff)
	}
}

// TestLogOrder proves that runs are shown in the order in which they began, and that debug lines are shown on demand,
// with the lines that belong to them.
func TestLogOrder(t *testing.T) {
	t.Parallel()
	s := &logServer{polls: []map[string]string{{
		"+a.5": "2024-01-01 00:00:05 +0000 [INFO] (x) y: a5\n",
		"+b.1": "2024-01-01 00:00:01.000 +0000 [DEBUG] (x) y: hidden\nwith its second line\n2024-01-01 00:00:01.000 +0000 [WARN] (x) y: b1\nand more\n",
		"+b.7": "[b7]\n",
	}}}
	warned := "2024-01-01 00:00:01.000 +0000 [WARN] (x) y: b1\nand more\n2024-01-01 00:00:05 +0000 [INFO] (x) y: a5\n[b7]\n"
	if diff := cmp.Diff(warned, readLog(t, s, LogOptions{Plain: true})); diff != "" {
		t.Error(diff)
	}
	all := "2024-01-01 00:00:01.000 +0000 [DEBUG] (x) y: hidden\nwith its second line\n" + warned
	if diff := cmp.Diff(all, readLog(t, s, LogOptions{Plain: true, Verbose: true})); diff != "" {
		t.Error(diff)
	}
}
