package stack_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"zerodag/integration/localstack"
	"zerodag/integration/localstack/proxy"
	"zerodag/integration/stack"
	"zerodag/internal/cloud"
	"zerodag/internal/env"
	"zerodag/internal/host"
	"zerodag/operators/all"
)

// inFlight is what a deployment held while attempts were under way: written by one build,
// finished by another.
type inFlight struct {
	Release  string // the version of the build that wrote it
	Attempts map[string]recorded
	Items    []map[string]value // of the table
	Objects  map[string][]byte  // of the bucket of archives
	Events   []parcel
	Tasks    []parcel
}

// recorded is an attempt; its name in inFlight is that of its workflow.
type recorded struct{ ID, Session string }

// value is an attribute of an item.
type value struct {
	S, N *string `json:",omitempty"`
	B    []byte  `json:",omitempty"`
	Bool *bool   `json:",omitempty"`
}

// parcel is a message as it lies in its queue.
type parcel struct {
	Body, Group, Duplicate string
	Attributes             map[string]string
	Again                  bool // it had been received before
}

// situations are workflows and how far their attempts had come.
func situations() map[string]string {
	sets := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "  +s%d:\n    param_set>:\n    v%d: ${attempt_id}\n", i, i)
		}
		return b.String()
	}
	return map[string]string{
		"start":    "+a:\n" + sets(2),                                              // no executor has seen the start
		"chain":    "+a:\n" + sets(30),                                             // in the middle of a chain
		"pack":     "+a:\n  _parallel: true\n" + sets(20) + "+b:\n  echo>: over\n", // a pack half done
		"waits":    "+a:\n  wait>: 15s\n+b:\n" + sets(1),                           // a poll waits
		"retry":    "+a:\n  _retry: {limit: 1, interval: 15}\n  fail>: again\n",    // a retry waits, and will fail
		"snapshot": "+l:\n  loop>: 400\n  _do:\n    echo>: ${i}\n+a:\n" + sets(3),  // a log with a snapshot
		"killed":   "+a:\n  wait>: 1h\n+b:\n" + sets(1),                            // a kill that no executor has seen
	}
}

const inFlightFile = "testdata/inflight-0.1.0.json"

// TestRecordInFlight writes down what this build leaves in flight. It needs ZERODAG_RECORD=1,
// a fresh stack, and a new name of the file for each release: those of earlier releases stay.
func TestRecordInFlight(t *testing.T) {
	if os.Getenv("ZERODAG_RECORD") == "" {
		t.Skip("NOT RUN: it writes " + inFlightFile + " when ZERODAG_RECORD is set")
	}
	s := stack.Alone(t)
	ctx := t.Context()
	feed(t, s.Stage, false)
	files := map[string]string{}
	for name, text := range situations() {
		files[name+".dig"] = text
	}
	p, err := s.Push(ctx, "inflight", files)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{t: t, engine: engineOf(t, s.Stage), attempts: map[string]recorded{}, names: map[string]string{}}
	for name := range files {
		name = strings.TrimSuffix(name, ".dig")
		a, err := s.Start(ctx, p.Workflows[name], time.Unix(1_700_000_000, 0))
		if err != nil {
			t.Fatal(err)
		}
		var full struct{ SessionID string }
		if err := s.Get(ctx, "/api/attempts/"+a.ID, &full); err != nil {
			t.Fatal(err)
		}
		r.attempts[name], r.names[a.ID] = recorded{a.ID, full.SessionID}, name
	}
	r.events()
	r.tasks()
	if err := s.Post(ctx, "/api/attempts/"+r.attempts["killed"].ID+"/kill", struct{}{}, nil); err != nil {
		t.Fatal(err)
	}
	time.Sleep(16 * time.Second) // what is delayed is received only then
	r.write()
}

// engineOf is this build's, on the resources of a stage.
func engineOf(t *testing.T, stage string) *cloud.Engine {
	t.Helper()
	variables, err := proxy.Environment(t.Context(), stage, "executor")
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(variables, map[string]string{"AWS_ENDPOINT_URL": localstack.Endpoint(), "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": localstack.Region})
	for name, v := range variables {
		t.Setenv(name, v)
	}
	program, err := os.Executable() // beside which it looks for what evaluates
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", filepath.Join(filepath.Dir(program), env.Evaluator), "zerodag/cmd/evaluator").CombinedOutput(); err != nil {
		t.Fatalf("build the evaluator: %v\n%s", err, out)
	}
	e, err := cloud.Open(t.Context(), all.Registry())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func feed(t *testing.T, stage string, on bool) {
	t.Helper()
	if err := proxy.Feed(t.Context(), stage, on); err != nil {
		t.Fatal(err)
	}
	if !on {
		localstack.Cleanup(t, func(ctx context.Context) error { return proxy.Feed(ctx, stage, true) })
	}
}

type recorder struct {
	t        *testing.T
	engine   *cloud.Engine
	attempts map[string]recorded
	names    map[string]string // of attempts, by id
	again    map[string]bool   // messages that were left by who had them
}

func (r *recorder) of(d host.Delivery) string {
	id, _, _ := strings.Cut(d.ID, "/")
	return r.names[id]
}

// events handles all starts but one, which is given back.
func (r *recorder) events() {
	ctx := r.t.Context()
	var left []host.Delivery
	for range r.attempts {
		list, err := r.engine.Events.Receive(ctx, 1, time.Minute)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, d := range list {
			if r.of(d) == "start" {
				left = append(left, d)
				continue
			}
			r.engine.TakeEvents(ctx, r.engine.Events, []host.Delivery{d})
		}
	}
	for _, d := range left {
		r.giveBack(r.engine.Events, d)
	}
}

// tasks runs what was sent, and breaks off a chain, a pack and a chain behind a snapshot
// as soon as their logs have some entries.
func (r *recorder) tasks() {
	r.again = map[string]bool{}
	entries := map[string]int{"chain": 5, "pack": 4, "snapshot": 5}
	for waiting := []string{"chain", "pack", "waits", "snapshot", "killed"}; len(waiting) > 0; {
		list, err := r.engine.Tasks.Receive(r.t.Context(), 1, time.Minute)
		if err != nil {
			r.t.Fatal(err)
		}
		d := list[0]
		name := r.of(d)
		i := slices.Index(waiting, name)
		if i < 0 { // the retry, which is due by now, or what was broken off before
			defer r.giveBack(r.engine.Tasks, d)
			continue
		}
		waiting = slices.Delete(waiting, i, i+1)
		ctx, cancel := context.WithCancel(r.t.Context())
		if n := entries[name]; n > 0 {
			go r.cut(ctx, cancel, r.attempts[name].ID, n)
		}
		r.engine.TakeTask(ctx, r.engine.Tasks, d)
		cancel()
		if entries[name] > 0 {
			r.again[d.ID] = true
			defer r.giveBack(r.engine.Tasks, d)
		}
	}
}

// cut breaks off work when the log of its attempt has so many entries.
func (r *recorder) cut(ctx context.Context, cancel func(), id string, entries int) {
	var attempt int64
	fmt.Sscan(id, &attempt)
	for ctx.Err() == nil {
		stored, err := r.engine.DB.Load(ctx, attempt)
		if err == nil && int(stored.At)+len(stored.Entries) >= entries {
			cancel()
		}
	}
}

func (r *recorder) giveBack(q host.Queue, d host.Delivery) {
	if err := q.Release(r.t.Context(), d, 0); err != nil {
		r.t.Fatal(err)
	}
}

// write reads table, bucket and queues as they are and writes the file.
func (r *recorder) write() {
	ctx, c := r.t.Context(), localstack.Config(r.t)
	f := inFlight{Release: "0.1.0", Attempts: r.attempts, Objects: map[string][]byte{}}
	for p := dynamodb.NewScanPaginator(dynamodb.NewFromConfig(c), &dynamodb.ScanInput{TableName: &r.engine.Config.Table}); p.HasMorePages(); {
		page, err := p.NextPage(ctx)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, it := range page.Items {
			if key := it["p"].(*types.AttributeValueMemberS).Value; !slices.Contains([]string{"U", "K", "Y"}, key[:1]) {
				f.Items = append(f.Items, plainItem(it)) // no tokens, no audit log, no values of param_set>
			}
		}
	}
	store := s3.NewFromConfig(c, func(o *s3.Options) { o.UsePathStyle = true })
	for p := s3.NewListObjectsV2Paginator(store, &s3.ListObjectsV2Input{Bucket: &r.engine.Config.Archives}); p.HasMorePages(); {
		page, err := p.NextPage(ctx)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, o := range page.Contents {
			out, err := store.GetObject(ctx, &s3.GetObjectInput{Bucket: &r.engine.Config.Archives, Key: o.Key})
			if err != nil {
				r.t.Fatal(err)
			}
			if f.Objects[*o.Key], err = io.ReadAll(out.Body); err != nil {
				r.t.Fatal(err)
			}
		}
	}
	f.Events, f.Tasks = r.parcels(r.engine.Config.Events), r.parcels(r.engine.Config.Tasks)
	text, err := json.MarshalIndent(f, "", " ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(inFlightFile), 0o755)
	}
	if err == nil {
		err = os.WriteFile(inFlightFile, append(text, '\n'), 0o644)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Logf("%d items, %d objects, %d events, %d tasks", len(f.Items), len(f.Objects), len(f.Events), len(f.Tasks))
}

// parcels takes all messages out of a queue.
func (r *recorder) parcels(url string) []parcel {
	client := sqs.NewFromConfig(localstack.Config(r.t))
	var list []parcel
	for {
		out, err := client.ReceiveMessage(r.t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 10, WaitTimeSeconds: 2, VisibilityTimeout: 600,
			MessageAttributeNames: []string{"All"}, MessageSystemAttributeNames: []sqstypes.MessageSystemAttributeName{sqstypes.MessageSystemAttributeNameAll}})
		if err != nil {
			r.t.Fatal(err)
		}
		if len(out.Messages) == 0 {
			return list
		}
		for _, m := range out.Messages {
			p := parcel{Body: *m.Body, Group: m.Attributes["MessageGroupId"], Duplicate: m.Attributes["MessageDeduplicationId"], Attributes: map[string]string{}}
			for name, a := range m.MessageAttributes {
				p.Attributes[name] = aws.ToString(a.StringValue)
			}
			p.Again = r.again[p.Attributes["id"]]
			list = append(list, p)
			if _, err := client.DeleteMessage(r.t.Context(), &sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: m.ReceiptHandle}); err != nil {
				r.t.Fatal(err)
			}
		}
	}
}

func plainItem(it map[string]types.AttributeValue) map[string]value {
	out := map[string]value{}
	for name, v := range it {
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			out[name] = value{S: &v.Value}
		case *types.AttributeValueMemberN:
			out[name] = value{N: &v.Value}
		case *types.AttributeValueMemberB:
			out[name] = value{B: v.Value}
		case *types.AttributeValueMemberBOOL:
			out[name] = value{Bool: &v.Value}
		}
	}
	return out
}
