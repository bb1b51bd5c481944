// Package microvmfake is a server that behaves like the parts of the Lambda MicroVMs API that zerodag calls: it checks
// every request, and its own responses, against AWS's service model (model.json, see model), checks signatures, and
// fails on demand.
//
// Times, the order of pages and the effect of a repeated client token are not in the model; they follow AWS's guide
// (docs/adr/0055-lambda-microvms.md).
package microvmfake

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// Image is the only image.
const Image = "arn:aws:lambda:" + region + ":123456789012:microvm-image:zerodag-test"

const region = "eu-west-1"

// Machine is a MicroVM.
type Machine struct {
	ID, State, Reason, Payload string
	Started                    time.Time
	// Request is the request that started it.
	Request map[string]any
}

// Fake imitates the service.
type Fake struct {
	// PageSize is the largest number of machines on a page of a list.
	PageSize int
	// Run and Terminate, unless nil, are called when a machine starts and ends.
	Run, Terminate func(Machine)
	Now            func() time.Time

	t       testing.TB
	server  *httptest.Server
	mu      sync.Mutex
	list    []*Machine
	byToken map[string]*Machine
	faults  []*Fault
	calls   map[string]int
}

// Fault makes a call fail.
type Fault struct {
	Operation string // "" means any
	Times     int    // how many times
	Status    int    // of the response; 0 means no response: the connection ends
	Code      string // of the error; "" means a response that is not in the service's form
	// Done means that the call is carried out before it fails.
	Done bool
}

// New starts a server for the duration of the test.
func New(t testing.TB) *Fake {
	f := &Fake{t: t, PageSize: 50, Now: time.Now, byToken: map[string]*Machine{}, calls: map[string]int{}}
	f.server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(f.server.Close)
	return f
}

const key, secret = "AKIDEXAMPLE", "wJalrXUtnFEMI"

// Config returns the configuration with which a driver calls it.
func (f *Fake) Config() aws.Config {
	return aws.Config{Region: region, BaseEndpoint: aws.String(f.server.URL), Credentials: credentials.NewStaticCredentialsProvider(key, secret, "")}
}

// Fail makes calls fail.
func (f *Fake) Fail(x Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, &x)
}

// Machines returns all machines in the order of their start.
func (f *Fake) Machines() []Machine {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []Machine
	for _, m := range f.list {
		list = append(list, *m)
	}
	return list
}

// Calls returns how many times an operation was called.
func (f *Fake) Calls(operation string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[operation]
}

// Set changes the state of a machine; "" forgets it.
func (f *Fake) Set(id, state, reason string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, m := range f.list {
		if m.ID == id {
			if m.State, m.Reason = state, reason; state == "" {
				f.list = slices.Delete(f.list, i, i+1)
			}
			return
		}
	}
	f.t.Errorf("machine %s does not exist", id)
}

// Check checks a request that another fake answers against the model, and reports to the test if the service would
// reject it.
func Check(t testing.TB, r *http.Request, body []byte) {
	t.Helper()
	name, path := model().find(r.Method, r.URL.EscapedPath())
	if name == "" {
		t.Errorf("unknown operation %s %s", r.Method, r.URL.Path)
	} else if _, err := model().request(name, path, r.URL.Query(), body); err != nil {
		t.Errorf("%s: the model rejects it: %v", name, err)
	}
}

// Serves reports whether a path belongs to the service.
func Serves(path string) bool { return strings.HasPrefix(path, "/"+model().Version+"/") }

func (f *Fake) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	name, path := model().find(r.Method, r.URL.EscapedPath())
	if name == "" {
		f.t.Errorf("unknown operation %s %s", r.Method, r.URL.Path)
		http.NotFound(w, r)
		return
	}
	if err := signed(r, body); err != nil {
		f.t.Errorf("%s: %v", name, err)
		f.refuse(w, name, http.StatusForbidden, "AccessDeniedException", err.Error())
		return
	}
	in, err := model().request(name, path, r.URL.Query(), body)
	if err != nil {
		f.t.Errorf("%s: the model rejects it: %v", name, err)
		f.refuse(w, name, 0, "ValidationException", err.Error())
		return
	}
	fault := f.fault(name)
	if fault != nil && !fault.Done {
		f.fail(w, name, fault)
		return
	}
	out, code, message := f.do(name, in)
	switch {
	case fault != nil:
		f.fail(w, name, fault)
	case code != "":
		f.refuse(w, name, 0, code, message)
	default:
		f.answer(w, name, out)
	}
}

// fault returns the fault of this call, or nil if there is none.
func (f *Fake) fault(name string) *Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[name]++
	for _, x := range f.faults {
		if x.Times > 0 && (x.Operation == "" || x.Operation == name) {
			x.Times--
			return x
		}
	}
	return nil
}

func (f *Fake) fail(w http.ResponseWriter, name string, x *Fault) {
	switch {
	case x.Status == 0 && x.Code == "":
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			c.Close()
		}
	case x.Code == "":
		http.Error(w, "<html>", x.Status)
	default:
		f.refuse(w, name, x.Status, x.Code, "as the test requests")
	}
}

// refuse answers with an error that the operation may return. Status 0 means the model's status for the error.
func (f *Fake) refuse(w http.ResponseWriter, name string, status int, code, message string) {
	s := model().Shapes[code]
	if s == nil || !slices.Contains(model().Operations[name].Errors, code) {
		f.t.Errorf("%s has no error %s", name, code)
		return
	}
	if status == 0 {
		status = s.Error.HTTPStatusCode
	}
	w.Header().Set("X-Amzn-Errortype", code+":http://internal.amazon.com/")
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]string{"message": message}) // the caller may be gone
}

func (f *Fake) answer(w http.ResponseWriter, name string, out map[string]any) {
	text, err := json.Marshal(out)
	if err != nil {
		f.t.Errorf("%s: %v", name, err)
	}
	var back map[string]any
	if err := json.Unmarshal(text, &back); err != nil {
		f.t.Errorf("%s: %v", name, err)
	}
	if err := model().fits(model().Operations[name].Output, "", back); err != nil {
		f.t.Errorf("response of the fake to %s: %v", name, err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(model().Operations[name].Status)
	w.Write(text) // the caller may be gone
}

// do carries out a call.
func (f *Fake) do(name string, in map[string]any) (out map[string]any, code, message string) {
	switch name {
	case "RunMicrovm":
		return f.run(in)
	case "ListMicrovms":
		return f.page(in)
	}
	id, _ := in["microvmIdentifier"].(string)
	f.mu.Lock()
	i := slices.IndexFunc(f.list, func(m *Machine) bool { return m.ID == id })
	if i < 0 {
		f.mu.Unlock()
		return nil, "ResourceNotFoundException", "no MicroVM " + id
	}
	m := f.list[i]
	ends := name == "TerminateMicrovm" && m.State != terminated
	if ends {
		m.State = "TERMINATING"
		if f.Terminate == nil { // no one reports its end
			m.State = terminated
		}
	}
	is := *m
	f.mu.Unlock()
	if name == "TerminateMicrovm" {
		if ends && f.Terminate != nil {
			f.Terminate(is)
		}
		return map[string]any{}, "", ""
	}
	return is.full(), "", ""
}

const terminated = "TERMINATED"

// full returns a machine as operations on a single machine describe it.
func (m Machine) full() map[string]any {
	out := map[string]any{"microvmId": m.ID, "state": m.State, "endpoint": m.ID + ".lambda-microvm." + region + ".on.aws", "imageArn": Image, "imageVersion": "1.0",
		"maximumDurationInSeconds": m.Request["maximumDurationInSeconds"], "startedAt": seconds(m.Started)}
	if m.Reason != "" {
		out["stateReason"] = strings.ReplaceAll(m.Reason, " ", "_") // the model allows no space here
	}
	return out
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

func (f *Fake) run(in map[string]any) (out map[string]any, code, message string) {
	if in["imageIdentifier"] != Image {
		return nil, "ResourceNotFoundException", "the image does not exist"
	}
	token, _ := in["clientToken"].(string)
	f.mu.Lock()
	m := f.byToken[token]
	if m != nil {
		same, is := same(m.Request, in), *m
		f.mu.Unlock()
		if !same {
			return nil, "ConflictException", "the client token was used with other parameters"
		}
		return is.full(), "", ""
	}
	payload, _ := in["runHookPayload"].(string)
	m = &Machine{ID: fmt.Sprintf("microvm-%08d", len(f.byToken)+1), State: "RUNNING", Payload: payload, Started: f.Now(), Request: in}
	f.list = append(f.list, m)
	f.byToken[token] = m
	is := *m
	f.mu.Unlock()
	if f.Run != nil {
		f.Run(is)
	}
	is.State = "PENDING"
	return is.full(), "", ""
}

func same(a, b map[string]any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}

func (f *Fake) page(in map[string]any) (out map[string]any, code, message string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	size := f.PageSize
	if n, is := in["maxResults"].(float64); is {
		size = min(size, int(n))
	}
	from := 0
	if token, is := in["nextToken"].(string); is {
		n, err := strconv.Atoi(strings.TrimPrefix(token, "page-"))
		if err != nil {
			return nil, "ValidationException", "not a page token"
		}
		from = n
	}
	items := []any{}
	if image := in["imageIdentifier"]; image == nil || image == Image {
		for _, m := range f.list[min(from, len(f.list)):min(from+size, len(f.list))] {
			one := m.full()
			maps.DeleteFunc(one, func(name string, _ any) bool {
				return !slices.Contains([]string{"microvmId", "state", "imageArn", "imageVersion", "startedAt"}, name)
			})
			items = append(items, one)
		}
	}
	out = map[string]any{"items": items}
	if from+size < len(f.list) {
		out["nextToken"] = fmt.Sprintf("page-%d", from+size)
	}
	return out, "", ""
}

// signed verifies the signature of a request.
func signed(r *http.Request, body []byte) error {
	given := r.Header.Get("Authorization")
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		return fmt.Errorf("it is not signed: %w", err)
	}
	again, err := http.NewRequestWithContext(r.Context(), r.Method, "http://"+r.Host+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	_, list, _ := strings.Cut(given, "SignedHeaders=")
	list, _, _ = strings.Cut(list, ",")
	for name := range strings.SplitSeq(list, ";") {
		if values := r.Header.Values(name); values != nil {
			again.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	sum := sha256.Sum256(body)
	err = v4.NewSigner().SignHTTP(r.Context(), aws.Credentials{AccessKeyID: key, SecretAccessKey: secret}, again, hex.EncodeToString(sum[:]), model().SigningName, region, at)
	if err == nil && again.Header.Get("Authorization") != given {
		err = fmt.Errorf("the signature does not match these headers (%s)", list)
	}
	return err
}
