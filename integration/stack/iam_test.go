package stack_test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"

	"zerodag/integration/stack"
)

// TestSignedCommands checks that the command line works with its user's AWS credentials and without a token, from
// pushes to secrets, and that the audit log names the principal.
func TestSignedCommands(t *testing.T) {
	t.Parallel()
	deployed := stack.Deployed(t)
	c := newCommandLine(t, deployed, "")
	project := "signed-" + strings.ToLower(rand.Text()[:8])
	c.write("wf.dig", "+a:\n  echo>: by ${who}\n")
	who := c.object("whoami", "--iam")
	arn, _ := who["name"].(string)
	if !strings.HasPrefix(arn, "arn:aws") || who["by"] != "iam" || who["role"] != "owner" || who["site"] != 0.0 {
		t.Fatalf("whoami: %v", who)
	}
	c.must("push", project, "--iam", "-r", "r1")
	defer c.must("delete", project, "--force", "--iam")
	c.must("secrets", "--project", project, "--set", "k=v", "--iam")
	if keys := c.must("secrets", "--project", project, "-X", "client.http.iam=true"); keys != "k\n" {
		t.Errorf("secrets by configuration: %q", keys)
	}
	attempt := c.object("start", project, "wf", "--session", "2024-03-01", "-p", "who=+b/ü c", "--iam")["id"].(string)
	if log := c.must("log", attempt, "+wf+a", "-f", "--iam"); !strings.Contains(log, "by +b/ü c") {
		t.Errorf("log: %s", log)
	}
	status, answer := deployed.Signed(t, http.MethodGet, "/api/audit", nil)
	var log struct {
		Audits []struct{ Who, Action, Target string }
	}
	if err := json.Unmarshal(answer, &log); status != http.StatusOK || err != nil {
		t.Fatalf("audit log: %d %s", status, answer)
	}
	found := map[string]bool{}
	for _, r := range log.Audits {
		if r.Who == arn && strings.Contains(r.Target, project) {
			found[r.Action] = true
		}
	}
	if !found["push"] || !found["put secret"] {
		t.Errorf("the audit log does not name %s: %s", arn, answer)
	}
}

// TestWhoami checks that the command line shows how it is authenticated or, if it is not, how it tried and what to do.
func TestWhoami(t *testing.T) {
	t.Parallel()
	deployed := stack.Deployed(t)
	for _, want := range []struct {
		name, token string
		args, env   []string
		out, errors string
	}{
		{name: "token", token: deployed.Token, out: "  by: with the token of ZERODAG_TOKEN\n  role: admin\n"},
		{name: "IAM", env: []string{"ZERODAG_IAM=1"}, out: "  by: with a signature by AWS credentials (ZERODAG_IAM)\n  role: owner\n"},
		{name: "nothing", errors: "Status code 401: Missing Authorization header\nhint: the request was made without a token: "},
		{name: "wrong token", args: []string{"--token", "zdt_x"}, errors: "hint: the request was made with the token of --token: "},
		{name: "wrong key", args: []string{"--iam"}, env: []string{"AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY=x", "AWS_SESSION_TOKEN=", "AWS_PROFILE="},
			errors: "Status code 403: Forbidden\nhint: the request was made with a signature by AWS credentials (--iam): "},
		{name: "both", args: []string{"--iam", "--token", "x"}, errors: "error: --iam cannot be used together with --token or --basic-auth"},
	} {
		t.Run(want.name, func(t *testing.T) {
			t.Parallel()
			cmd := newCommandLine(t, deployed, want.token).command(append([]string{"whoami"}, want.args...)...)
			cmd.Env = append(cmd.Env, want.env...)
			var out, errors bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errors
			err := cmd.Run()
			if (err == nil) != (want.errors == "") || !strings.Contains(out.String(), want.out) || !strings.Contains(errors.String(), want.errors) {
				t.Errorf("%v\n%s%s\nwant %q %q", err, &out, &errors, want.out, want.errors)
			}
		})
	}
}

// TestForged checks that below /iam, only unchanged requests that a principal of the account has just signed are
// accepted, and that a signature gives no access elsewhere.
func TestForged(t *testing.T) {
	t.Parallel()
	deployed := stack.Deployed(t)
	config, err := awsconfig.LoadDefaultConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	credentials, err := config.Credentials.Retrieve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, path string
		service    string
		key        string // in place of the correct secret
		age        time.Duration
		change     func(*http.Request)
		status     int
	}{
		{name: "as it must be", status: http.StatusBadRequest}, // accepted: the body is not a token
		{name: "not signed", change: func(r *http.Request) { r.Header.Del("Authorization") }, status: http.StatusForbidden},
		{name: "a token", change: func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+deployed.Token) }, status: http.StatusForbidden},
		{name: "a password", change: func(r *http.Request) { r.SetBasicAuth("test", "test") }, status: http.StatusForbidden},
		{name: "another secret", key: "other", status: http.StatusForbidden},
		{name: "an old signature", age: time.Hour, status: http.StatusForbidden},
		{name: "for another service", service: "lambda", status: http.StatusForbidden},
		{name: "another body", change: func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("{ }")); r.ContentLength = 3 }, status: http.StatusForbidden},
		{name: "another path", change: func(r *http.Request) { r.URL.Path = "/iam/api/projects" }, status: http.StatusForbidden},
		{name: "another query", change: func(r *http.Request) { r.URL.RawQuery = "site=7" }, status: http.StatusForbidden},
		{name: "not below /iam", path: "/api/tokens", status: http.StatusUnauthorized},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			who, service, path := credentials, "execute-api", "/iam/api/tokens"
			if c.key != "" {
				who.SecretAccessKey = c.key
			}
			if c.service != "" {
				service = c.service
			}
			if c.path != "" {
				path = c.path
			}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, deployed.URL+path, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256([]byte("{}"))
			if err := v4.NewSigner().SignHTTP(t.Context(), who, r, hex.EncodeToString(sum[:]), service, config.Region, time.Now().Add(-c.age)); err != nil {
				t.Fatal(err)
			}
			if c.change != nil {
				c.change(r)
			}
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			if err != nil || answer.StatusCode != c.status {
				t.Errorf("%d %s %v, want %d", answer.StatusCode, text, err, c.status)
			}
		})
	}
}
