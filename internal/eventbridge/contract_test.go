package eventbridge_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"zerodag/events"
	"zerodag/integration/localstack"
	"zerodag/internal/eventbridge"
	"zerodag/internal/host"
	"zerodag/internal/host/hosttest"
	"zerodag/internal/host/hosttest/suite"
)

var _ host.Bus = (*eventbridge.Bus)(nil)

// service answers PutEvents as EventBridge does and keeps the events.
type service struct {
	mu   sync.Mutex
	puts []events.Announcement
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var call struct {
		Entries []struct {
			EventBusName, Source, DetailType, Detail string
			Time                                     float64
		}
	}
	text, _ := io.ReadAll(r.Body)
	if err := json.Unmarshal(text, &call); err != nil || r.Header.Get("X-Amz-Target") != "AWSEvents.PutEvents" || len(call.Entries) != 1 {
		http.Error(w, `{"__type":"ValidationException","message":"no PutEvents"}`, http.StatusBadRequest)
		return
	}
	e := call.Entries[0]
	a := events.Announcement{Topic: events.Topic(e.DetailType), Time: time.Unix(int64(e.Time), 0).UTC()}
	if err := json.Unmarshal([]byte(e.Detail), &a.Detail); err != nil || e.EventBusName != "bus" || e.Source != events.BusSource {
		http.Error(w, `{"__type":"ValidationException","message":"`+string(text)+`"}`, http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.puts = append(s.puts, a)
	s.mu.Unlock()
	io.WriteString(w, `{"FailedEntryCount":0,"Entries":[{"EventId":"1"}]}`)
}

func open(t *testing.T, handler http.Handler, topics ...events.Topic) *eventbridge.Bus {
	t.Helper()
	server := httptest.NewServer(localstack.Judged(t, handler))
	t.Cleanup(server.Close)
	c := aws.Config{Region: "eu-central-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("k", "s", "")}
	return eventbridge.New(c, eventbridge.Options{Name: "bus", Topics: topics, Tries: 1})
}

// TestContract runs the suite of buses against a service that responds the way EventBridge does.
func TestContract(t *testing.T) {
	t.Parallel()
	hosttest.Exercise(t, hosttest.Driver{Absent: hosttest.AllBut("a bus keeps nothing", "Bus"), Stores: func(t *testing.T, run func(*testing.T, suite.Stores)) {
		s := &service{}
		bus := open(t, s, events.AttemptStarted, events.AttemptSucceeded, events.AttemptFailed, events.AttemptKilled, events.SLAMissed)
		run(t, suite.Stores{Bus: bus, Heard: func(*testing.T) []events.Announcement {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.puts
		}})
	}})
}

// TestTopics proves that events of other topics cause no call, and that an event that EventBridge did not accept causes
// a retryable error.
func TestTopics(t *testing.T) {
	t.Parallel()
	refusing := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"FailedEntryCount":1,"Entries":[{"ErrorCode":"ThrottlingException","ErrorMessage":"slow down"}]}`)
	})
	bus := open(t, refusing, events.AttemptFailed)
	if err := bus.Announce(t.Context(), events.Announcement{Topic: events.AttemptStarted}); err != nil {
		t.Errorf("a topic that is not asked for: %v", err)
	}
	if err := bus.Announce(t.Context(), events.Announcement{Topic: events.AttemptFailed}); !errors.Is(err, host.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}
