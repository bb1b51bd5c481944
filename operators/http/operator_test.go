package http

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/operatortest"
)

// serve responds by path: /status/N, /echo, /slow, /redirect, /dig/KIND, /long/N.
func serve(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(answerByPath))
	t.Cleanup(s.Close)
	return s.URL
}

func answerByPath(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	kind, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	n := 0
	fmt.Sscan(rest, &n)
	switch kind {
	case "status":
		w.WriteHeader(n)
		fmt.Fprintf(w, "status %d body", n)
	case "echo":
		content, _ := io.ReadAll(r.Body)
		json.NewEncoder(w).Encode([]any{r.Method, r.RequestURI, r.Header.Get("Content-Type"), string(content),
			r.Header.Get("Authorization"), r.Header["X-Two"]})
	case "slow":
		<-r.Context().Done()
	case "redirect":
		http.Redirect(w, r, "/status/200", http.StatusFound)
	case "long":
		io.WriteString(w, strings.Repeat("x", n))
	case "latin":
		w.Header().Set("Content-Type", "text/plain; charset=ISO-8859-1")
		w.Write([]byte{0xe9})
	case "dig":
		answerDefinition(w, rest)
	}
}

func answerDefinition(w http.ResponseWriter, kind string) {
	w.Header().Set("Content-Type", map[string]string{
		"json": "application/json; charset=utf-8", "yaml": "application/x-yaml", "text": "text/plain", "bad": "application/json",
		"wrong": "application/json",
	}[kind])
	switch kind {
	case "json":
		io.WriteString(w, `{"+a": {"echo>": "x ${v}"}}`)
	case "bad":
		io.WriteString(w, "][")
	case "wrong":
		io.WriteString(w, `{"junk": 1}`)
	case "none":
		w.Header()["Content-Type"] = nil
		io.WriteString(w, "+a: {}")
	default:
		io.WriteString(w, "+a:\n  echo>: x ${v}\n")
	}
}

func op(name string) operators.Operator {
	for _, o := range Operators() {
		if o.Name == name {
			return o
		}
	}
	panic(name)
}

func TestOperators(t *testing.T) {
	t.Parallel()
	base := serve(t)
	wrong := []string{
		`{}`, `{"_command": []}`, `{"_command": "BASE", "http": 1}`, `{"_command": "BASE", "headers": ["x"]}`,
		`{"_command": "BASE", "headers": [{"a": 1, "b": 2}]}`, `{"_command": "BASE", "headers": {"a": 1}}`,
		`{"_command": "BASE", "timeout": "x"}`, `{"_command": "BASE", "retry": "x"}`, `{"_command": "BASE", "query": [1]}`,
		`{"_command": "BASE", "content": [1], "content_format": "text"}`, `{"_command": "BASE", "content": [1], "content_format": "form"}`,
		`{"_command": "BASE", "content": "x", "content_format": "form"}`, `{"_command": "BASE", "content": "x", "content_format": "x"}`,
		`{"_command": "BASE", "content": {"a": {}}, "content_format": "form"}`, `{"_command": "BASE", "insecure": []}`,
		`{"_command": "BASE", "proxy": 1}`, `{"_command": "BASE", "proxy": {"enabled": true}}`, `{"_command": "BASE/${x:y}"}`,
		`{"_command": "BASE", "follow_redirects": "x"}`,
	}
	for i := range wrong {
		wrong[i] = strings.ReplaceAll(wrong[i], "BASE", base)
	}
	for name, good := range map[string]string{"http": "/status/200", "http_call": "/dig/yaml"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			operatortest.Exercise(t, operatortest.Subject{
				Operator: op(name),
				Good:     `{"_command": "` + base + good + `", "method": "get", "headers": [{"A": "b"}], "retry": true, "timeout": 9}`,
				Slow:     `{"_command": "` + base + `/slow"}`,
				Wrong:    wrong,
			})
		})
	}
}

// TestWhatIsSent compares [method, URI, Content-Type, content, Authorization, X-Two].
func TestWhatIsSent(t *testing.T) {
	t.Parallel()
	base := serve(t)
	for params, want := range map[string]string{
		`{}`: `["GET","/echo","","","",null]`,
		`{"method": "post", "content": {"a": 1, "b": "2"}}`: `["POST","/echo","application/json","{\"a\":1,\"b\":\"2\"}","",null]`,
		`{"content": "raw", "content_type": "text/plain"}`:  `["GET","/echo","text/plain","raw","",null]`,
		`{"content": 1.0}`:                                            `["GET","/echo","plain/text","1.0","",null]`,
		`{"content": "x", "content_format": "JSON"}`:                  `["GET","/echo","application/json","\"x\"","",null]`,
		`{"content": {"f": "x y", "g": 2}, "content_format": "form"}`: `["GET","/echo","application/x-www-form-urlencoded","f=x+y\u0026g=2","",null]`,
		`{"content": ["${secret:s}"]}`:                                `["GET","/echo","application/json","[\"it's\"]","",null]`,
		`{"query": {"q": "a b", "r": 2}}`:                             `["GET","/echo?q=a+b\u0026r=2","","","",null]`,
		`{"query": "{\"q\": 1}"}`:                                     `["GET","/echo?q=1","","","",null]`,
		`{"query": "a=b c&d"}`:                                        `["GET","/echo?a=b+c\u0026d=","","","",null]`,
		`{"headers": [{"X-Two": 1}, {"X-Two": "${secret:s}"}]}`:       `["GET","/echo","","","",["1","it's"]]`,
		`{"headers": [{"Content-Type": "mine"}], "content": "x"}`:     `["GET","/echo","mine","x","",null]`,
		`{"http": {"method": "PUT"}}`:                                 `["PUT","/echo","","","",null]`,
	} {
		m := operatortest.Map(t, params)
		m.Set("_command", base+"/echo")
		m.Set("store_content", true)
		w := operatortest.New(t, param.Text(m))
		w.Vault["s"] = "it's"
		result, err := op("http").Run(t.Context(), &w.Task)
		if err != nil {
			t.Errorf("%s: %v", params, err)
			continue
		}
		got, _ := result.Store.Map("http").Get("last_content")
		if diff := cmp.Diff(want+"\n", got); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
	}
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	base := serve(t)
	for name, c := range map[string]struct {
		secrets operatortest.Vault
		want    string
	}{
		"basic":         {operatortest.Vault{"http.user": "u", "http.password": "p"}, "Basic dTpw"},
		"no password":   {operatortest.Vault{"http.user": "u"}, "Basic dTo="},
		"authorization": {operatortest.Vault{"http.user": "u", "http.authorization": "Bearer x"}, "Bearer x"},
		"uri":           {operatortest.Vault{"http.uri": base + "/echo?hidden"}, ""},
	} {
		w := operatortest.New(t, `{"_command": "`+base+`/echo", "store_content": true, "query": {"t": "${secret:token}"}}`)
		w.Vault = c.secrets
		w.Vault["token"] = "hidden"
		w.Secrets = w.Vault
		result, err := op("http").Run(t.Context(), &w.Task)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		content, _ := result.Store.Map("http").Get("last_content")
		if !strings.Contains(content.(string), `"`+c.want+`"`) {
			t.Errorf("%s: got %s", name, content)
		}
		if strings.Contains(w.Output.String(), "hidden") {
			t.Errorf("%s: the log tells a secret:\n%s", name, w.Output)
		}
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	base := serve(t)
	const stored = `{"http":{"last_status":200}}`
	for params, want := range map[string]operatortest.Ended{
		`{"_command": "/status/200"}`:                          {Store: stored},
		`{"_command": "/redirect"}`:                            {Store: stored},
		`{"_command": "/redirect", "follow_redirects": false}`: {Store: `{"http":{"last_status":302}}`},
		`{"_command": "/latin", "store_content": true}`:        {Store: `{"http":{"last_status":200,"last_content":"é"}}`},
		`{"_command": "/long/65537", "store_content": true}`:   {Error: "Response content too large: 65537 > 65536"},
		`{"_command": "/long/65537"}`:                          {Store: stored},
		`{"_command": "/status/404"}`:                          {Error: "HTTP 4XX Client Error: GET BASE/status/404 - 404 Not Found: status 404 body"},
		`{"_command": "/status/500", "retry": false}`:          {Error: "HTTP 5XX Server Error: GET BASE/status/500 - 500 Server Error: status 500 body"},
		`{"_command": "/status/503", "method": "POST"}`:        {Error: "HTTP 5XX Server Error: POST BASE/status/503 - 503 Service Unavailable: status 503 body"},
		`{"_command": "/status/503"}`:                          {Error: "run again after 1s", Kind: "later"},
		`{"_command": "/status/429", "method": "POST"}`:        {Error: "run again after 1s", Kind: "later"},
		`{"_command": "/status/408", "retry": false}`:          {Error: "run again after 1s", Kind: "later"},
		`{"_command": "/status/404${secret:s}"}`:               {Error: "HTTP 4XX Client Error: GET http://*** - 404 Not Found: status 404 body"},
	} {
		w := operatortest.New(t, strings.Replace(params, `"_command": "`, `"_command": "`+base, 1))
		w.Vault["s"] = ""
		got := operatortest.RunOnce(t, op("http"), w)
		got.Error = strings.ReplaceAll(got.Error, base, "BASE")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	w := operatortest.New(t, `{"_command": "http://user:pw@127.0.0.1:1/x", "retry": false}`)
	got := operatortest.RunOnce(t, op("http"), w)
	if !strings.HasPrefix(got.Error, "HTTP request failed: GET http://127.0.0.1:1/x: dial tcp") || got.Kind != "" {
		t.Errorf("got %+v", got)
	}
	w = operatortest.New(t, `{"_command": "nonsense"}`)
	if got := operatortest.RunOnce(t, op("http"), w); got.Kind != "illegal argument" {
		t.Errorf("got %+v", got)
	}
}

// TestRetriesEnd checks the pauses after which a request is sent again and the time limit for that, and that each try
// of `_retry` has the full time.
func TestRetriesEnd(t *testing.T) {
	t.Parallel()
	const dead = `"_command": "http://127.0.0.1:1/x"`
	for _, c := range []struct {
		level  int
		params string
		waits  []int
		ends   bool
	}{
		{0, `{` + dead + `}`, []int{1, 2, 4, 8, 16, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30}, false},
		{1, `{` + dead + `}`, []int{1, 2, 4, 8, 16, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 29}, true},
		{1, `{` + dead + `, "retry_for": "10s"}`, []int{1, 2, 4, 3}, true},
		{0, `{` + dead + `, "http": {"retry_for": "3s"}}`, []int{1, 2}, true},
		{1, `{` + dead + `, "retry_for": "unlimited"}`, []int{1, 2, 4, 8, 16, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30}, false},
		{1, `{` + dead + `, "method": "POST", "retry": true, "retry_for": "1s"}`, []int{1}, true},
		{1, `{` + dead + `, "retry": false}`, nil, true},
	} {
		w := operatortest.New(t, c.params)
		w.Level = c.level
		for _, try := range []int64{0, 1} {
			if try > 0 {
				w.State = w.State.Clone()
				w.State.Set("retry_count", try)
			}
			for i, want := range c.waits {
				later := operatortest.Look(t, op("http"), w)
				if later.After != time.Duration(want)*time.Second {
					t.Errorf("%s: run %d asks for another after %v, want %d s", c.params, i+1, later.After, want)
				}
				w.State, w.Now = later.State, w.Now.Add(later.After)
			}
			if !c.ends {
				break
			}
			if got := operatortest.RunOnce(t, op("http"), w); !strings.HasPrefix(got.Error, "HTTP request failed: GET") && !strings.HasPrefix(got.Error, "HTTP request failed: POST") ||
				len(c.waits) > 0 && !strings.HasSuffix(got.Error, ": see retry_for)") {
				t.Errorf("%s: got %+v", c.params, got)
			}
		}
	}
	for _, wrong := range []string{`"0s"`, `"never"`, `-1`} {
		if got := operatortest.RunOnce(t, op("http"), operatortest.New(t, `{`+dead+`, "retry_for": `+wrong+`}`)); got.Kind != "config" {
			t.Errorf("%s: got %+v", wrong, got)
		}
	}
}

func TestUserProxy(t *testing.T) {
	t.Parallel()
	var seen []string
	proxyServer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { seen = append(seen, r.URL.String()) }))
	t.Cleanup(proxyServer.Close)
	at, err := url.Parse(proxyServer.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := `"proxy": {"enabled": true, "host": "` + at.Hostname() + `", "port": "` + at.Port() + `"}`
	w := operatortest.New(t, `{"_command": "http://nosuch.invalid/x", `+proxy+`}`)
	want := operatortest.Ended{Store: `{"http":{"last_status":200}}`}
	if diff := cmp.Diff(want, operatortest.RunOnce(t, op("http"), w)); diff != "" {
		t.Error(diff)
	}
	w = operatortest.New(t, `{"_command": "http://nosuch.invalid/y"}`)
	w.Config = operatortest.Map(t, `{"http": {`+proxy+`}}`)
	operatortest.RunOnce(t, op("http"), w)
	w = operatortest.New(t, `{"_command": "http://127.0.0.1:1/z", "retry": false, `+proxy+`}`)
	w.Config = operatortest.Map(t, `{"http": {"allow_user_proxy": "false"}}`)
	operatortest.RunOnce(t, op("http"), w)
	if diff := cmp.Diff([]string{"http://nosuch.invalid/x", "http://nosuch.invalid/y"}, seen); diff != "" {
		t.Error(diff)
	}
}

// TestRefusalOfAProxy (B3) checks that a proxy's 4xx response to CONNECT ends the task as a 4xx response from the
// server would, and that a request is retried after a temporary failure.
func TestRefusalOfAProxy(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{
		403: "HTTP 4XX Client Error: GET https://nosuch.invalid/x - 403 Forbidden: the proxy refused to connect",
		407: "HTTP 4XX Client Error: GET https://nosuch.invalid/x - 407 Proxy Authentication Required: the proxy refused to connect",
		408: "later", 429: "later", 502: "later", 301: "later",
	} {
		asked := 0
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked++
			w.WriteHeader(status)
		}))
		at, err := url.Parse(proxy.URL)
		if err != nil {
			t.Fatal(err)
		}
		w := operatortest.New(t, `{"_command": "https://nosuch.invalid/x", "proxy": {"enabled": true, "host": "`+at.Hostname()+`", "port": "`+at.Port()+`"}}`)
		_, err = op("http").Run(t.Context(), &w.Task)
		got := fmt.Sprint(err)
		var later *operators.Later
		if errors.As(err, &later) {
			got = "later"
		}
		if got != want || asked != 1 {
			t.Errorf("%d is %q after %d questions, want %q", status, got, asked, want)
		}
		proxy.Close()
	}
}

// TestHeadersAsWritten (B5) checks that a task's headers are sent in its order and spelling, and that identical headers
// are sent only once.
func TestHeadersAsWritten(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	heads := make(chan string, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		buffer := make([]byte, 4096)
		n, _ := c.Read(buffer)
		heads <- string(buffer[:n])
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	}()
	w := operatortest.New(t, `{"_command": "http://`+l.Addr().String()+`", "headers": [{"foo": 1}, {"bar": 2}, {"foo": 3}, {"foo": 1}]}`)
	if _, err := op("http").Run(t.Context(), &w.Task); err != nil {
		t.Fatal(err)
	}
	if head := <-heads; !strings.Contains(head, "\r\nfoo: 1\r\nbar: 2\r\nfoo: 3\r\n") || strings.Count(head, "foo: 1") != 1 {
		t.Errorf("%q", head)
	}
}

func TestCall(t *testing.T) {
	t.Parallel()
	base := serve(t)
	const tasks = `{"+a":{"echo>":"x ${v}"}}`
	for params, want := range map[string]operatortest.Ended{
		`{"_command": "/dig/yaml"}`: {Subtasks: tasks},
		`{"_command": "/dig/json"}`: {Subtasks: tasks},
		`{"_command": "/dig/text", "content_type_override": "application/x-yaml"}`: {Subtasks: tasks},
		`{"_command": "/dig/yaml", "_workdir": "sub"}`:                             {Subtasks: `{"_export":{"_workdir":"sub"},"+a":{"echo>":"x ${v}"}}`},
		`{"_command": "/dig/text"}`: {
			Error: "Unsupported Content-Type (expected application/json or application/x-yaml): text/plain"},
		`{"_command": "/dig/none"}`:   {Error: "Content-Type must be set in the HTTP response but not set"},
		`{"_command": "/long/65537"}`: {Error: "Response content too large: 65537 > 65536"},
	} {
		w := operatortest.New(t, strings.Replace(params, `"_command": "`, `"_command": "`+base, 1))
		w.Vault["http.uri"] = "http://127.0.0.1:1/" // has no meaning here
		if diff := cmp.Diff(want, operatortest.RunOnce(t, op("http_call"), w)); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
	}
}

func TestCallOfNonsense(t *testing.T) {
	t.Parallel()
	base := serve(t)
	for path, want := range map[string]operatortest.Ended{
		"/dig/bad":   {Error: "Failed to parse response as JSON:", Kind: "runtime"},
		"/dig/wrong": {Error: "junk", Kind: "config"},
	} {
		got := operatortest.RunOnce(t, op("http_call"), operatortest.New(t, `{"_command": "`+base+path+`"}`))
		if !strings.Contains(got.Error, want.Error) || got.Kind != want.Kind {
			t.Errorf("%s: got %+v", path, got)
		}
	}
}

func TestTheDefinitionIsKept(t *testing.T) {
	t.Parallel()
	w := operatortest.New(t, `{"_command": "`+serve(t)+`/dig/yaml"}`)
	operatortest.RunOnce(t, op("http_call"), w)
	content, err := w.Files.Read("http_call.dig")
	if err != nil || len(content) == 0 || !strings.Contains(w.Output.String(), string(content)) {
		t.Errorf("got %q, %v; log:\n%s", content, err, w.Output)
	}
}
