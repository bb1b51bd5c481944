package sns

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"zerodag/engine/param"
	"zerodag/integration/localstack"
	"zerodag/internal/host/hosttest"
	"zerodag/internal/host/hosttest/suite"
	"zerodag/internal/notice"
)

var _ notice.Sender = (*Topic)(nil)

// TestContract runs the notice suite against a service that answers like SNS.
func TestContract(t *testing.T) {
	t.Parallel()
	hosttest.Exercise(t, hosttest.Driver{Absent: hosttest.AllBut("a topic keeps nothing", "Notices"), Stores: func(t *testing.T, run func(*testing.T, suite.Stores)) {
		var mu sync.Mutex
		var told []*param.Map
		server := httptest.NewServer(localstack.Judged(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			v, err := param.ParseJSON(r.FormValue("Message"))
			if err != nil || r.FormValue("Action") != "Publish" || r.FormValue("TopicArn") != "arn:topic" {
				http.Error(w, "no Publish", http.StatusBadRequest)
				return
			}
			mu.Lock()
			told = append(told, v.(*param.Map))
			mu.Unlock()
			io.WriteString(w, `<PublishResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><PublishResult><MessageId>1</MessageId></PublishResult></PublishResponse>`)
		})))
		t.Cleanup(server.Close)
		c := aws.Config{Region: "eu-central-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("k", "s", "")}
		topic := New(c, Options{ARN: "arn:topic", Stage: "main", Tries: 1})
		run(t, suite.Stores{Notices: notice.New(topic, notice.Options{Now: time.Now}), Told: func(*testing.T) []*param.Map {
			mu.Lock()
			defer mu.Unlock()
			return told
		}})
	}})
}
