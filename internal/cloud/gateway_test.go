package cloud

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
)

// payload returns the event that one of the two API types sends for a request.
func payload(t *testing.T, rest bool, method, path, query string, body []byte, header http.Header, signer string) json.RawMessage {
	t.Helper()
	var event any
	text := base64.StdEncoding.EncodeToString(body)
	if rest {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		e := events.APIGatewayProxyRequest{HTTPMethod: method, Path: (&url.URL{Path: path}).EscapedPath(), MultiValueQueryStringParameters: values, MultiValueHeaders: header, Body: text, IsBase64Encoded: true}
		e.RequestContext.Identity = events.APIGatewayRequestIdentity{SourceIP: "1.2.3.4", UserArn: signer}
		event = e
	} else {
		e := events.APIGatewayV2HTTPRequest{Version: "2.0", RawPath: path, RawQueryString: query, Headers: map[string]string{}, Body: text, IsBase64Encoded: true}
		for name := range header {
			e.Headers[strings.ToLower(name)] = header.Get(name)
		}
		e.RequestContext.HTTP.Method, e.RequestContext.HTTP.SourceIP = method, "1.2.3.4"
		if signer != "" {
			e.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{IAM: &events.APIGatewayV2HTTPRequestContextAuthorizerIAMDescription{UserARN: signer}}
		}
		event = e
	}
	out, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestRequest proves that an API Gateway event becomes the request that was sent: method, path (which an HTTP API
// decodes and a REST API does not), query, headers and a body of any bytes.
func TestRequest(t *testing.T) {
	t.Parallel()
	for _, rest := range []bool{false, true} {
		event := payload(t, rest, "PUT", "/api/logs/1/files/+main+100%#%41", "a=1&b=%20", []byte{0, 255, 1}, http.Header{"Content-Type": {"application/gzip"}, "Authorization": {"Bearer t"}}, "")
		c, err := readCall(t.Context(), event)
		if err != nil {
			t.Fatal(err)
		}
		r := c.request
		body, _ := io.ReadAll(r.Body)
		got := []string{r.Method, r.URL.EscapedPath(), r.URL.Path, r.URL.Query().Get("b"), r.Header.Get("Content-Type"), r.Header.Get("Authorization"), string(body), r.RemoteAddr, c.signer}
		want := []string{"PUT", "/api/logs/1/files/+main+100%25%23%2541", "/api/logs/1/files/+main+100%#%41", " ", "application/gzip", "Bearer t", "\x00\xff\x01", "1.2.3.4:0", ""}
		if diff := cmp.Diff(want, got); diff != "" || r.ContentLength != 3 || c.rest != rest {
			t.Error(rest, diff, r.ContentLength)
		}
		if _, err := readCall(t.Context(), []byte(strings.Replace(string(event), `"AP8B"`, `"no base64!"`, 1))); err == nil {
			t.Error("a broken body was taken")
		}
	}
	for _, text := range []string{`{"httpMethod":"GET","path":"/%zz"}`, `{"httpMethod":"a b","path":"/"}`, `[]`, `{"httpMethod":"GET","path":7}`, `{"rawPath":7}`} {
		if _, err := readCall(t.Context(), []byte(text)); err == nil {
			t.Errorf("%s was read", text)
		}
	}
}

// TestExampleEvents proves that the example events from AWS's library are read correctly: path, query and signer.
func TestExampleEvents(t *testing.T) {
	t.Parallel()
	folder, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/aws/aws-lambda-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"apigw-request.json":                  "POST /hello/world?name=me theUserArn true",
		"apigw-v2-request-iam.json":           "GET /my/path?parameter1=value1&parameter1=value2&parameter2=value arn:aws:iam::1234567890:user/Admin false",
		"apigw-v2-request-no-authorizer.json": "GET /  false",
	} {
		text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(folder)), "events", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		c, err := readCall(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(c.request.Method, " ", c.request.URL, " ", c.signer, " ", c.rest); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// FuzzPath proves that any name at the end of a path arrives as it was sent, although an HTTP API decodes it once and a
// REST API does not.
func FuzzPath(f *testing.F) {
	for _, name := range []string{"+main+a", "100%", "%41", "a#b", "a b", "ü", "%2F", "a?b", "..", "a/b"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		sent := "/api/projects/1/workflows/" + name
		var two events.APIGatewayV2HTTPRequest
		two.RequestContext.HTTP.Method, two.RawPath, two.RawQueryString = http.MethodGet, sent, "revision=r"
		one := events.APIGatewayProxyRequest{HTTPMethod: http.MethodGet, Path: (&url.URL{Path: sent}).EscapedPath(), MultiValueQueryStringParameters: map[string][]string{"revision": {"r"}}}
		a, err := ofHTTPAPI(t.Context(), two)
		if err != nil {
			t.Fatal(err)
		}
		b, err := ofRESTAPI(t.Context(), one)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []call{a, b} {
			u := c.request.URL
			if there, err := url.PathUnescape(u.EscapedPath()); err != nil || there != sent || u.Query().Get("revision") != "r" {
				t.Errorf("%q became %q, %v", name, u, err)
			}
		}
	})
}

// answered reads a response in either format.
func answered(t *testing.T, a any) (status int, body string, encoded bool, kind string, cookies []string) {
	t.Helper()
	switch a := a.(type) {
	case events.APIGatewayV2HTTPResponse:
		return a.StatusCode, a.Body, a.IsBase64Encoded, a.Headers["content-type"], a.Cookies
	case events.APIGatewayProxyResponse:
		if len(a.Headers) > 0 {
			t.Error("headers stand in two places: API Gateway would merge them")
		}
		return a.StatusCode, a.Body, a.IsBase64Encoded, http.Header(a.MultiValueHeaders).Get("Content-Type"), a.MultiValueHeaders["Set-Cookie"]
	}
	t.Fatalf("%T is no answer", a)
	return
}

// TestAnswer proves that JSON is sent as text, everything else as base64, each cookie separately, and that content that
// the gateway cannot carry causes a clear error, in the formats of an HTTP API and a REST API.
func TestAnswer(t *testing.T) {
	t.Parallel()
	for _, rest := range []bool{false, true} {
		write := func(status int, kind, body string) any {
			w := newRecorder()
			w.Header().Set("Content-Type", kind)
			w.Header().Add("Set-Cookie", "a=1")
			w.Header().Add("Set-Cookie", "b=2")
			w.WriteHeader(status)
			io.WriteString(w, body)
			return call{rest: rest}.answer(w)
		}
		if status, body, encoded, kind, cookies := answered(t, write(http.StatusConflict, "application/json", "{}")); status != 409 || body != "{}" || encoded || kind != "application/json" || len(cookies) != 2 {
			t.Error(rest, status, body, encoded, kind, cookies)
		}
		if status, body, encoded, _, _ := answered(t, write(http.StatusOK, "application/gzip", "\x1f\x8b")); status != 200 || body != "H4s=" || !encoded {
			t.Error(rest, status, body, encoded)
		}
		// The limit applies to the JSON in which Lambda receives a response.
		for name, c := range map[string]struct {
			kind, body string
			want       int
		}{
			"text":                 {"application/json", strings.Repeat(" ", 5<<20), http.StatusOK},
			"text that is escaped": {"text/plain", strings.Repeat(`"`, 4<<20), http.StatusOK},
			"text that grows more": {"text/plain", strings.Repeat("\x01", 2<<20), http.StatusOK},
			"escaped, too large":   {"text/plain", strings.Repeat(`"`, 5<<20), http.StatusRequestEntityTooLarge},
			"binary":               {"application/gzip", strings.Repeat("x", 4<<20), http.StatusOK},
			"binary, too large":    {"application/gzip", strings.Repeat("x", 5<<20), http.StatusRequestEntityTooLarge},
			"text, too large":      {"application/json", strings.Repeat(" ", 6<<20), http.StatusRequestEntityTooLarge},
		} {
			a := write(http.StatusOK, c.kind, c.body)
			text, err := json.Marshal(a)
			status, body, encoded, _, _ := answered(t, a)
			if err != nil || status != c.want || len(text) > 6<<20 {
				t.Errorf("%s: %d, %d bytes, %v", name, status, len(text), err)
			}
			read := []byte(body)
			if encoded {
				read, err = base64.StdEncoding.DecodeString(body)
			}
			if status == http.StatusOK && (err != nil || string(read) != c.body) {
				t.Errorf("%s: the answer is another one, %v", name, err)
			}
		}
	}
}

// TestSigned proves that paths below /iam accept only signed requests, and that the signer is taken from API Gateway's
// data and never from a header, in both event formats.
func TestSigned(t *testing.T) {
	t.Parallel()
	var who string
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, _ = signer(r.Context())
		io.WriteString(w, r.URL.Path)
	})
	api := &API{byToken: http.NotFoundHandler(), byIAM: echo}
	forged := http.Header{"Userarn": {"arn:aws:iam::1:user/root"}, "X-Amzn-Caller": {"root"}}
	for _, rest := range []bool{false, true} {
		who = ""
		a, err := api.serve(t.Context(), payload(t, rest, "GET", "/iam/api/projects", "", nil, forged, ""))
		if err != nil {
			t.Fatal(err)
		}
		if status, _, _, _, _ := answered(t, a); status != http.StatusForbidden || who != "" {
			t.Errorf("rest %v: an unsigned request was answered with %d, as %q", rest, status, who)
		}
		a, err = api.serve(t.Context(), payload(t, rest, "GET", "/iam/api/projects", "", nil, nil, "arn:aws:iam::1:user/u"))
		if err != nil {
			t.Fatal(err)
		}
		if status, body, _, _, _ := answered(t, a); status != http.StatusOK || body != "/api/projects" || who != "arn:aws:iam::1:user/u" {
			t.Errorf("rest %v: %d %q, as %q", rest, status, body, who)
		}
	}
}
