package aws_test

import (
	"context"
	"errors"
	"maps"
	"net"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/integration/localstack"
	"zerodag/operators"
	"zerodag/operators/aws"
	"zerodag/operators/operatortest"
)

// TestPlace checks which of several endpoints is called, and with which key.
func TestPlace(t *testing.T) {
	t.Setenv("AWS_CONFIG_FILE", "/nonexistent")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
	t.Setenv("AWS_ENDPOINT_URL", "")
	t.Setenv("AWS_REGION", "eu-north-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "host")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "host")
	for name, c := range map[string]struct {
		params string
		vault  operatortest.Vault
		want   string // key, region, endpoint
		err    string
	}{
		"the host's":         {params: `{}`, want: "host eu-north-1 "},
		"secrets":            {params: `{}`, vault: operatortest.Vault{"aws.access_key_id": "a", "aws.secret_access_key": "s", "aws.region": "us-west-2"}, want: "a us-west-2 "},
		"secrets of service": {params: `{"region": "us-east-2"}`, vault: operatortest.Vault{"aws.access_key_id": "a", "aws.x.access_key_id": "b", "aws.secret_access_key": "s", "aws.x.region": "ap-south-1", "aws.region": "us-west-2"}, want: "b ap-south-1 "},
		"parameters":         {params: `{"region": "us-east-2", "endpoint": "http://h:1"}`, want: "host us-east-2 http://h:1"},
		"defaults":           {params: `{"aws": {"region": "us-east-2", "x": {"region": "us-gov-west-1"}}}`, want: "host us-gov-west-1 "},
		"endpoint wins":      {params: `{"region": "us-east-2", "endpoint": "x.eu-west-1.amazonaws.com"}`, want: "host eu-west-1 https://x.eu-west-1.amazonaws.com"},
		"secret endpoint":    {params: `{"endpoint": "http://h:1"}`, vault: operatortest.Vault{"aws.x.endpoint": "http://h:2"}, want: "host eu-north-1 http://h:2"},
		"half a key":         {params: `{}`, vault: operatortest.Vault{"aws.access_key_id": "a"}, err: "Secret not found for key: 'aws.secret_access_key'"},
		"bad region":         {params: `{"region": "Mars"}`, err: "Illegal AWS region: Mars"},
		"bad endpoint":       {params: `{"endpoint": "ftp://h"}`, err: "Illegal AWS endpoint: ftp://h: write it like https://host:port"},
	} {
		w := operatortest.New(t, c.params)
		w.Secrets = c.vault
		got, err := config(t.Context(), w, "x")
		if err != nil {
			if err.Error() != c.err {
				t.Errorf("%s: got error %v, want %q", name, err, c.err)
			}
			continue
		}
		keys, err := got.Credentials.Retrieve(t.Context())
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		endpoint := ""
		if got.BaseEndpoint != nil {
			endpoint = *got.BaseEndpoint
		}
		if diff := cmp.Diff(c.want, strings.Join([]string{keys.AccessKeyID, got.Region, endpoint}, " ")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func config(ctx context.Context, w *operatortest.World, service string) (sdk.Config, error) {
	p, err := aws.Params(&w.Task, service)
	if err != nil {
		return sdk.Config{}, err
	}
	return (&aws.Account{}).Config(ctx, &w.Task, p, service)
}

// TestNoCredentials checks that the error names the settings to add, and that a host does not have to lend its role.
func TestNoCredentials(t *testing.T) {
	t.Setenv("AWS_CONFIG_FILE", "/nonexistent")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	w := operatortest.New(t, `{}`)
	if _, err := config(t.Context(), w, "x"); err == nil || !strings.Contains(err.Error(), "set the secrets aws.access_key_id and aws.secret_access_key") {
		t.Errorf("without credentials: %v", err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "host")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "host")
	if _, err := config(t.Context(), w, "x"); err != nil {
		t.Errorf("with the host's: %v", err)
	}
	w.Config = param.New("aws", param.New("environment", false))
	if _, err := config(t.Context(), w, "x"); err == nil || !strings.Contains(err.Error(), "this host does not share its own role with tasks") {
		t.Errorf("with a host that keeps them: %v", err)
	}
	w.Secrets = operatortest.Vault{"aws.access_key_id": "a", "aws.secret_access_key": "s"}
	if _, err := config(t.Context(), w, "x"); err != nil {
		t.Errorf("with secrets: %v", err)
	}
}

// TestRole checks that the task assumes the role that the secret names.
func TestRole(t *testing.T) {
	t.Parallel()
	localstack.Config(t)
	w := operatortest.New(t, `{}`)
	maps.Copy(w.Vault, localstack.Secrets("sts"))
	w.Vault["aws.role_arn"] = "arn:aws:iam::000000000000:role/loader"
	c, err := config(t.Context(), w, "sts")
	if err != nil {
		t.Fatal(err)
	}
	who, err := sts.NewFromConfig(c).GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	if want := "assumed-role/loader/zerodag-0-5-6"; err != nil || !strings.HasSuffix(*who.Arn, want) {
		t.Errorf("the task is %v (%v), want %s", who, err, want)
	}
}

// TestFailure checks that every kind of error becomes one sentence with a remedy.
func TestFailure(t *testing.T) {
	t.Parallel()
	api := func(code string) error {
		return &smithy.OperationError{ServiceID: "X", OperationName: "Y", Err: &smithy.GenericAPIError{Code: code, Message: "no"}}
	}
	for want, err := range map[string]error{
		"x>: can't do it: access denied: allow x:Do to the credentials of the secrets aws.*, or of this host's role (no)":                    api("AccessDeniedException"),
		"x>: can't do it: AWS does not accept the credentials (ExpiredToken): renew the secrets aws.access_key_id and aws.secret_access_key": api("ExpiredToken"),
		"x>: can't do it: it does not exist: check its name, the account and the region":                                                     api("ResourceNotFoundException"),
		"x>: can't do it: AWS is not responding (Throttling: no): run it again, or add a `_retry` to the task":                               api("Throttling"),
		"x>: can't do it: AWS is not responding (dial: refused): run it again, or add a `_retry` to the task":                                &net.OpError{Op: "dial", Err: errors.New("refused")},
		"x>: can't do it: Odd: no": api("Odd"),
	} {
		got := aws.Call{Operator: "x", Doing: "do it", Needs: "x:Do"}.Failure(t.Context(), err)
		var plain *operators.Failure
		if !errors.As(got, &plain) || got.Error() != want {
			t.Errorf("got %v, want %s", got, want)
		}
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (aws.Call{}).Failure(over, api("Odd")); !errors.Is(err, context.Canceled) {
		t.Errorf("after a kill: %v", err)
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]time.Duration{0: time.Second, 3: 8 * time.Second, 5: 30 * time.Second, 29: 30 * time.Second, 1 << 40: 30 * time.Second} {
		if got := aws.Backoff(n, time.Second, 30*time.Second); got != want {
			t.Errorf("look %d: %v, want %v", n, got, want)
		}
	}
}

// TestName checks that a repeated run has the same name, and that another try has a different one.
func TestName(t *testing.T) {
	t.Parallel()
	w := operatortest.New(t, `{}`)
	first := aws.Name(&w.Task)
	w.Dispatch, w.State = 2, param.New("commandStatus", param.New("x", int64(1)))
	if again := aws.Name(&w.Task); again != first || len(first) != 36 {
		t.Errorf("another run has the name %s, want %s", again, first)
	}
	w.State = param.New("retry_count", int64(1))
	if again := aws.Name(&w.Task); again == first {
		t.Error("another try has the same name")
	}
}
