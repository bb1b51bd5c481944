package cloud

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/integration/localstack"
	"zerodag/internal/catalogue"
	"zerodag/internal/env"
	"zerodag/internal/host"
)

// TestStreamsAreShort proves that a stream for an idle attempt occupies the function for no more than five seconds:
// viewers must not use up the account's concurrency.
func TestStreamsAreShort(t *testing.T) {
	t.Parallel()
	c := localstack.Config(t)
	config := env.Config{Stage: "test", Table: localstack.Name(), Logs: bucket(t, c), Events: queue(t, c, true), Tasks: queue(t, c, false), DeadEvents: queue(t, c, true), DeadTasks: queue(t, c, false), Attempts: 10, TaskLimit: 10}
	e, err := wire(config, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	e.Logger = slog.New(slog.DiscardHandler)
	if err := e.DB.CreateTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	localstack.Cleanup(t, e.DB.DeleteTable)
	p, err := e.DB.Push(t.Context(), host.Push{Project: "p", Revision: host.Revision{Name: "r", CreatedAt: time.Now(), Archive: "a"},
		Workflows: []dig.Workflow{{Name: "w", Zone: "UTC", Config: param.New("+a", param.New("echo>", "x"))}}})
	if err != nil {
		t.Fatal(err)
	}
	list, err := e.Workflows(t.Context(), host.WorkflowQuery{Revision: p.Latest.ID})
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	a, err := e.Start(t.Context(), catalogue.StartRequest{Workflow: list[0].ID, SessionTime: time.Now(), Params: param.New()})
	if err != nil {
		t.Fatal(err)
	}
	api, err := e.API("test", nil)
	if err != nil {
		t.Fatal(err)
	}
	position := ""
	for range 3 { // the first one sends the current state and ends
		began := time.Now()
		position = streamed(t, api, a.ID, position)
		if took := time.Since(began); took > 5*time.Second+2*time.Second {
			t.Errorf("a stream took %v", took)
		}
	}
}

// streamed requests an attempt's events and returns the position with which the response ends.
func streamed(t *testing.T, api *API, attempt int64, position string) string {
	t.Helper()
	payload := fmt.Sprintf(`{"rawPath":"/iam/api/attempts/%d/events","headers":{"last-event-id":%q},"requestContext":{"http":{"method":"GET","sourceIp":"1.2.3.4"},"authorizer":{"iam":{"userArn":"arn:aws:iam::1:user/u"}}}}`, attempt, position)
	answer, err := api.Handle(t.Context(), json.RawMessage(payload))
	response, ok := answer.(events.APIGatewayV2HTTPResponse)
	if err != nil || !ok || response.StatusCode != 200 {
		t.Fatalf("%+v, %v", answer, err)
	}
	for line := range strings.Lines(response.Body) {
		if at, found := strings.CutPrefix(strings.TrimSpace(line), "id: "); found {
			position = at
		}
	}
	return position
}
