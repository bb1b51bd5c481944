// Package localstack starts and finds LocalStack, the AWS of the tests: a local process with pinned versions and
// without a container engine.
//
// Tests of the AWS drivers and of the deployed stack call it. It must never touch a real
// account: it returns only the address and the credentials of the emulator.
package localstack

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// Region is the only region.
const Region = "us-east-1"

// Endpoint returns the address of LocalStack, whether it is running or not: LS_PORT sets the port. MINISTACK_ENDPOINT
// replaces LocalStack with ministack, the second emulator of `make test-ministack`.
func Endpoint() string {
	if at := os.Getenv("MINISTACK_ENDPOINT"); at != "" {
		return at
	}
	port := os.Getenv("LS_PORT")
	if port == "" {
		port = "4566"
	}
	return "http://127.0.0.1:" + port
}

// Tables returns the address of its DynamoDB.
func Tables() (string, error) {
	if ministack() {
		return Endpoint(), nil
	}
	client := http.Client{Timeout: 5 * time.Second}
	r, err := client.Get(Endpoint() + "/_lsproc/dynamodb")
	if err != nil {
		return "", fmt.Errorf("query DynamoDB of LocalStack: %w", err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		return "", fmt.Errorf("query DynamoDB of LocalStack: %s %w", r.Status, err)
	}
	return string(text), nil
}

// Config returns the configuration of clients for LocalStack. A test is skipped if LS_PORT is not set or LocalStack
// does not run. With REQUIRE=localstack, it is started instead, and an error fails the test.
func Config(t testing.TB) aws.Config {
	t.Helper()
	if err := found(); err != nil {
		if required() {
			t.Fatal(err)
		}
		t.Skipf("SKIPPED: %v (start one with `make localstack`, then set LS_PORT to its port; or set REQUIRE=localstack)", err)
	}
	return aws.Config{Region: Region, BaseEndpoint: aws.String(Endpoint()), Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenSupported} // as in a function's own configuration
}

// Secrets returns the secrets that direct a task's service calls to LocalStack.
func Secrets(services ...string) map[string]string {
	s := map[string]string{"aws.access_key_id": "test", "aws.secret_access_key": "test", "aws.region": Region}
	for _, name := range services {
		s["aws."+name+".endpoint"] = Endpoint()
	}
	return s
}

func required() bool { return strings.Contains(os.Getenv("REQUIRE"), "localstack") }

func ministack() bool { return os.Getenv("MINISTACK_ENDPOINT") != "" }

// found returns nil if LocalStack responds. It searches for LocalStack, and starts it if requested, once per process.
var found = sync.OnceValue(func() error {
	err := healthy()
	if err == nil || !required() {
		return err
	}
	folder, err := exec.Command("go", "list", "-f", "{{.Dir}}", "zerodag/integration/localstack").Output()
	if err != nil {
		return fmt.Errorf("locate localstack.sh: %w", err)
	}
	out, err := exec.Command(filepath.Join(strings.TrimSpace(string(folder)), "localstack.sh"), "up").CombinedOutput()
	if err != nil {
		return fmt.Errorf("start LocalStack: %w\n%s", err, out)
	}
	return healthy()
})

func healthy() error {
	if ministack() {
		return nil // its owner has started it
	}
	if os.Getenv("LS_PORT") == "" && !required() {
		return errors.New("LS_PORT is not set, and the LocalStack of a different run is not used")
	}
	r, err := single(5 * time.Second).Get(Endpoint() + "/_lsproc/ready")
	if err != nil {
		return fmt.Errorf("LocalStack does not respond: %w", err)
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return fmt.Errorf("LocalStack responds with %s", r.Status)
	}
	return nil
}

// single returns a client that leaves no connection behind, because tests with simulated time would wait for it.
func single(timeout time.Duration) *http.Client {
	return &http.Client{Timeout: timeout, Transport: &http.Transport{DisableKeepAlives: true}}
}

// SharedFolder returns the parent of folders that containers of the test bed's ECS see, or "" if the environment names
// none.
func SharedFolder() string { return os.Getenv("LSPROC_SHARED") }

// Shared returns a folder of the test that the containers of the test bed's ECS also see, under the same path: they do
// not see other folders below /tmp.
func Shared(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(SharedFolder(), "test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// Name returns a name for a table, a bucket or a queue that no other test uses.
func Name() string { return "zerodag-test-" + strings.ToLower(rand.Text()[:12]) }

// Cleanup calls remove at the end of a test, when the test's own context has ended.
func Cleanup(t testing.TB, remove func(context.Context) error) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := remove(ctx); err != nil {
			t.Errorf("clean up: %v", err)
		}
	})
}
