package stack_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
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
	"zerodag/integration/stack"
)

// TestUpgrade proves that attempts which an earlier build had under way are finished by this
// one: their logs, snapshots and messages are put into the deployed stack as that build left
// them, but for ids and times, which are brought to now.
//
// It stops what feeds the functions meanwhile, so it runs alone.
func TestUpgrade(t *testing.T) {
	s := stack.Alone(t)
	files, err := filepath.Glob("testdata/inflight-*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("recorded messages and logs: %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { upgrade(t, s, file) })
	}
}

func upgrade(t *testing.T, s *stack.Stack, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var f inFlight
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	now := renewal(t, s, f)
	crashLeases.set(t, s)
	feed(t, s.Stage, false)
	now.put(s)
	now.send(s)
	feed(t, s.Stage, true)
	for name, a := range f.Attempts {
		id := now.text(a.ID)
		end := awaitEnd(t, s, id)
		success, canceled := name != "retry" && name != "killed", name == "killed"
		if end.Success != success || end.CancelRequested != canceled {
			t.Errorf("%s: attempt %s ended as %+v", name, id, end)
		}
		checkTasks(t, s, name, id, success)
	}
}

// awaitEnd waits for the end of an attempt.
func awaitEnd(t *testing.T, s *stack.Stack, id string) stack.Attempt {
	t.Helper()
	for deadline := time.Now().Add(90 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		var a stack.Attempt
		if err := s.Get(t.Context(), "/api/attempts/"+id, &a); err != nil {
			t.Fatal(err)
		}
		if a.Done || time.Now().After(deadline) {
			return a
		}
	}
}

// checkTasks looks whether every task of a workflow is there and has the end that it must.
func checkTasks(t *testing.T, s *stack.Stack, name, id string, success bool) {
	t.Helper()
	var tree struct {
		Tasks []struct{ FullName, State string }
	}
	if err := s.Get(t.Context(), "/api/attempts/"+id+"/tasks", &tree); err != nil {
		t.Fatal(err)
	}
	if want := strings.Count(situations()[name], "param_set>"); len(tree.Tasks) < want {
		t.Errorf("%s: %d tasks are there, want %d", name, len(tree.Tasks), want)
	}
	for _, x := range tree.Tasks {
		if success && x.State != "success" {
			t.Errorf("%s: task %s is %s", name, x.FullName, x.State)
		}
	}
}

// renewed brings what was recorded to now: an id is a time.
type renewed struct {
	inFlight
	t     *testing.T
	ids   *strings.Replacer
	began int64 // of the recording, in microseconds
	later int64 // microseconds
}

// renewal asks the stack for an id of now, and moves all others by a multiple of the
// number of shards, so that each stays in its own.
func renewal(t *testing.T, s *stack.Stack, f inFlight) *renewed {
	t.Helper()
	p, err := s.Push(t.Context(), "upgrade", map[string]string{"main.dig": "+a:\n  echo>: now\n"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := s.Start(t.Context(), p.Workflows["main"], time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Wait(t.Context(), a.ID); err != nil {
		t.Fatal(err)
	}
	r := &renewed{inFlight: f, t: t}
	var pairs []string
	delta := number64(t, a.ID) - number64(t, f.Attempts["start"].ID)
	delta -= delta%8 + 8 // not the attempt that was asked
	for _, x := range f.Attempts {
		pairs = append(pairs, x.ID, strconv.FormatInt(number64(t, x.ID)+delta, 10))
	}
	r.ids = strings.NewReplacer(pairs...)
	for _, it := range f.Items {
		if created := it["c"].N; it["p"].S != nil && *it["p"].S == "A#"+f.Attempts["start"].ID && created != nil {
			r.began = number64(t, *created)
		}
	}
	r.later = time.Now().UnixMicro() - r.began
	return r
}

func number64(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (r *renewed) text(s string) string { return r.ids.Replace(s) }

// number moves times of the recording; an expiry is far away.
func (r *renewed) number(name, n string) string {
	if strings.TrimPrefix(name, "1") == "x" {
		return strconv.FormatInt(time.Now().Add(30*24*time.Hour).Unix(), 10)
	}
	const day = 24 * 3600 * 1e6
	if at := number64(r.t, n); at > r.began-day && at < r.began+day {
		return strconv.FormatInt(at+r.later, 10)
	}
	return r.text(n)
}

// put writes objects and items.
func (r *renewed) put(s *stack.Stack) {
	c, ctx := localstack.Config(r.t), r.t.Context()
	config, err := s.Config(ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	store := s3.NewFromConfig(c, func(o *s3.Options) { o.UsePathStyle = true })
	for key, content := range r.Objects {
		if _, err := store.PutObject(ctx, &s3.PutObjectInput{Bucket: &config.Archives, Key: aws.String(r.text(key)), Body: bytes.NewReader(content)}); err != nil {
			r.t.Fatal(err)
		}
	}
	db := dynamodb.NewFromConfig(c)
	for _, it := range r.Items {
		item := map[string]types.AttributeValue{}
		for name, v := range it {
			switch {
			case v.S != nil:
				item[name] = &types.AttributeValueMemberS{Value: r.text(*v.S)}
			case v.N != nil:
				item[name] = &types.AttributeValueMemberN{Value: r.number(name, *v.N)}
			case v.Bool != nil:
				item[name] = &types.AttributeValueMemberBOOL{Value: *v.Bool}
			default:
				item[name] = &types.AttributeValueMemberB{Value: v.B}
			}
		}
		if _, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &config.Table, Item: item}); err != nil {
			r.t.Fatal(err)
		}
	}
}

// send puts the messages into their queues. Those that had been received are received
// once, so that they come as what they were: left by who had them.
func (r *renewed) send(s *stack.Stack) {
	events, tasks, err := s.Queues(r.t.Context(), localstack.Config(r.t))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, again := range []bool{true, false} {
		for _, p := range r.Tasks {
			if p.Again == again {
				r.parcel(tasks, p)
			}
		}
		if again {
			r.receive(tasks)
		}
	}
	for _, p := range r.Events {
		r.parcel(events, p)
	}
}

func (r *renewed) parcel(q *stack.Queue, p parcel) {
	in := &sqs.SendMessageInput{MessageBody: aws.String(r.text(p.Body)), MessageAttributes: map[string]sqstypes.MessageAttributeValue{}}
	for name, v := range p.Attributes {
		in.MessageAttributes[name] = sqstypes.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String(r.text(v))}
	}
	if p.Group != "" {
		in.MessageGroupId = aws.String(r.text(p.Group))
	}
	if p.Duplicate != "" {
		in.MessageDeduplicationId = aws.String(r.text(p.Duplicate))
	}
	if err := q.Send(r.t.Context(), in); err != nil {
		r.t.Fatal(err)
	}
}

// receive takes what is in the queue and gives it back at once.
func (r *renewed) receive(q *stack.Queue) {
	client := sqs.NewFromConfig(localstack.Config(r.t))
	for {
		out, err := client.ReceiveMessage(r.t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &q.URL, MaxNumberOfMessages: 10, VisibilityTimeout: 2, WaitTimeSeconds: 1})
		if err != nil {
			r.t.Fatal(err)
		}
		if len(out.Messages) == 0 {
			return
		}
	}
}

// TestNewerForm proves that a message of a later release is neither dropped nor harmful: it
// comes again and again until a program can read it.
func TestNewerForm(t *testing.T) {
	s := stack.Alone(t)
	ctx := t.Context()
	crashLeases.set(t, s)
	events, tasks, err := s.Queues(ctx, localstack.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Push(ctx, "newer", map[string]string{"main.dig": "+a:\n  echo>: hi\n"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := s.Start(ctx, p.Workflows["main"], time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if end, err := s.Wait(ctx, a.ID); err != nil || !end.Success {
		t.Fatal(end, err)
	}
	r := &renewed{t: t, ids: strings.NewReplacer()}
	began := time.Now()
	id := a.ID + "/later" + fmt.Sprint(time.Now().UnixNano())
	r.parcel(events, parcel{Body: `{"v":99,"event":"go_on"}`, Group: a.ID, Duplicate: id, Attributes: map[string]string{"id": id, "group": a.ID}})
	r.parcel(tasks, parcel{Body: `{"v":99,"runs":[{"task":2,"d":1}]}`, Attributes: map[string]string{"id": id}})
	for _, q := range []*stack.Queue{events, tasks} {
		localstack.Cleanup(t, q.Purge)
	}
	for _, function := range []string{"executor", "agent"} {
		awaitRefusals(t, s, function, id, began)
	}
}

// awaitRefusals waits until a function has given a message back twice.
func awaitRefusals(t *testing.T, s *stack.Stack, function, id string, since time.Time) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(500 * time.Millisecond) {
		lines, err := s.Log(t.Context(), function, since)
		if err != nil {
			t.Fatal(err)
		}
		refused := 0
		for _, line := range lines {
			if strings.Contains(line, id) && strings.Contains(line, "form 99") {
				refused++
			}
		}
		if refused >= 2 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: a message of a later form was refused %d times within a minute, want 2: it was dropped", function, refused)
		}
	}
}
