package fargate_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"

	"zerodag/internal/fargate"
	"zerodag/internal/sandbox"
)

// requests records the requests to ECS by operation, and responds the way ECS does in an account without task
// definitions.
type requests struct {
	mu  sync.Mutex
	all map[string]map[string]any
}

func (q *requests) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	body, _ := io.ReadAll(r.Body)
	in := map[string]any{}
	_ = json.Unmarshal(body, &in)
	q.all[operation] = in
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	switch operation {
	case "DescribeTaskDefinition":
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"__type":"ClientException","message":"Unable to describe task definition."}`)
	case "RegisterTaskDefinition":
		_, _ = io.WriteString(w, `{"taskDefinition":{"taskDefinitionArn":"arn:aws:ecs:eu-central-1:111111111111:task-definition/x:1"}}`)
	case "RunTask":
		_, _ = io.WriteString(w, `{"tasks":[{"taskArn":"arn:aws:ecs:eu-central-1:111111111111:task/c/1"}],"failures":[]}`)
	default:
		w.WriteHeader(http.StatusBadRequest)
	}
}

// TestTags proves that machines and task definitions have the stage's tags, that the tags of machines show whose
// commands they run, and that the container that fetches the program uses the image that the deployment names.
func TestTags(t *testing.T) {
	t.Parallel()
	q := &requests{all: map[string]map[string]any{}}
	server := httptest.NewServer(q)
	t.Cleanup(server.Close)
	config := aws.Config{Region: "eu-central-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")}
	l := fargate.New(config, fargate.Options{Stage: "main", Cluster: "c", Subnets: []string{"subnet-1"}, FetchImage: "mirror.example.com/alpine:3", Tags: map[string]string{"team": "data", "cost center": "42"}})
	if _, err := l.Launch(t.Context(), sandbox.Runner{Attempt: 7, Site: 1, Project: 12, ID: "x", Of: sandbox.Class{Image: "python:3", CPU: 256, Memory: 512}}, "ticket"); err != nil {
		t.Fatal(err)
	}
	of := func(operation string) map[string]string {
		list := map[string]string{}
		some, _ := q.all[operation]["tags"].([]any)
		for _, x := range some {
			tag := x.(map[string]any)
			list[tag["key"].(string)] = tag["value"].(string)
		}
		return list
	}
	common := map[string]string{"team": "data", "cost center": "42", "zerodag-stage": "main"}
	if diff := cmp.Diff(common, of("RegisterTaskDefinition")); diff != "" {
		t.Errorf("the task definition:\n%s", diff)
	}
	maps.Copy(common, map[string]string{"zerodag-site": "1", "zerodag-project": "12"})
	if diff := cmp.Diff(common, of("RunTask")); diff != "" {
		t.Errorf("the machine:\n%s", diff)
	}
	if q.all["RunTask"]["enableECSManagedTags"] != true {
		t.Error("ECS does not add the cluster to the tags of the machine")
	}
	var images []string
	for _, x := range q.all["RegisterTaskDefinition"]["containerDefinitions"].([]any) {
		images = append(images, x.(map[string]any)["image"].(string))
	}
	if !slices.Equal(images, []string{"mirror.example.com/alpine:3", "python:3"}) {
		t.Errorf("images %v", images)
	}
}
