package redshift

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/aws-sdk-go-v2/service/sts/types"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/aws"
)

// keys are the credentials with which COPY and UNLOAD access files.
type keys struct{ id, secret, token string }

func (k keys) text() string {
	text := "aws_access_key_id=" + k.id + ";aws_secret_access_key=" + k.secret
	if k.token != "" {
		text += ";token=" + k.token
	}
	return text
}

// secrets returns strings that must never be shown, plain and as they appear in a statement.
func (k keys) secrets() []string { return []string{k.id, k.secret, k.token} }

// vault finds the keys of a copy in aws.redshift_load, aws.redshift or aws. A role does not apply to the keys
// themselves, but to the temporary ones made with them.
type vault struct {
	operators.Secrets
	services []string
}

// Get implements operators.Secrets.
func (v vault) Get(key string) (string, bool, error) {
	name := key[strings.LastIndex(key, ".")+1:]
	switch {
	case name == "role_arn", name == "role_session_name":
		return "", false, nil
	case slices.Contains([]string{"access_key_id", "secret_access_key", "session_token"}, name):
		return v.first(name)
	}
	return v.Secrets.Get(key)
}

func (v vault) first(name string) (string, bool, error) {
	for _, service := range v.services {
		if value, found, err := v.Secrets.Get("aws." + service + "." + name); err != nil || found && value != "" {
			return value, found, err
		}
	}
	return v.Secrets.Get("aws." + name)
}

func (w *task) vault() vault {
	services := []string{"redshift_load", "redshift"}
	if w.name != "redshift_load" {
		services = append([]string{w.name}, services...)
	}
	return vault{w.Secrets, services}
}

// config returns the configuration for a service with the keys of a copy.
func (w *task) config(ctx context.Context, service, region string) (sdk.Config, error) {
	t := *w.Task
	t.Secrets = w.vault()
	place := param.New()
	if region != "" {
		place.Set("region", region)
	}
	return w.account.Config(ctx, &t, operators.NewParams(place), service)
}

// keys returns temporary keys for this task or, if it disables those, the keys from the secrets.
func (w *task) keys(ctx context.Context) (keys, error) {
	c, err := w.config(ctx, "sts", "")
	if err != nil {
		return keys{}, err
	}
	if !w.copy.temporary {
		own, err := c.Credentials.Retrieve(ctx)
		return keys{own.AccessKeyID, own.SecretAccessKey, own.SessionToken}, err
	}
	id, err := kind().Identified(w.Task)
	if err != nil {
		return keys{}, err
	}
	grants, err := w.copy.grants(id)
	if err != nil {
		return keys{}, err
	}
	listed, err := w.listed(ctx)
	if err != nil {
		return keys{}, err
	}
	policy := policyText(append(grants, listed...))
	role, _, err := w.vault().first("role_arn")
	if err != nil {
		return keys{}, err
	}
	client := sts.NewFromConfig(c)
	if role != "" {
		return w.assume(ctx, client, role, policy)
	}
	out, err := client.GetFederationToken(ctx, &sts.GetFederationTokenInput{Name: new("digdag-operator-session"), Policy: &policy, DurationSeconds: new(int32(w.copy.seconds))})
	if err != nil {
		return keys{}, aws.Call{Operator: w.name, Doing: "get credentials for the files (a role in the secret aws.role_arn, or temp_credentials: false, needs no federation)",
			Needs: "sts:GetFederationToken"}.Failure(ctx, err)
	}
	return keysOf(out.Credentials), nil
}

func (w *task) assume(ctx context.Context, client *sts.Client, role, policy string) (keys, error) {
	session, _, err := w.vault().first("role_session_name")
	if err != nil {
		return keys{}, err
	}
	if session == "" {
		if session, err = w.params.StringOr("role_session_name", "digdag-operator-session"); err != nil {
			return keys{}, err
		}
	}
	out, err := client.AssumeRole(ctx, &sts.AssumeRoleInput{RoleArn: &role, RoleSessionName: &session, Policy: &policy, DurationSeconds: new(int32(w.copy.seconds))})
	if err != nil {
		return keys{}, aws.Call{Operator: w.name, Doing: "assume the role " + role + " for the files", Needs: "sts:AssumeRole"}.Failure(ctx, err)
	}
	return keysOf(out.Credentials), nil
}

func keysOf(c *types.Credentials) keys {
	return keys{*c.AccessKeyId, *c.SecretAccessKey, *c.SessionToken}
}

// grant is a permission on objects, or on a DynamoDB table.
type grant struct {
	at place
	do string // "s3:GetObject"; "" for a table, whose name is in bucket
}

// mayRead returns the permission that COPY needs for a source.
func mayRead(uri string) (grant, error) {
	if table, found := strings.CutPrefix(uri, "dynamodb://"); found {
		return grant{place{bucket: table}, ""}, nil
	}
	if !strings.HasPrefix(uri, "s3://") {
		return grant{}, param.Errorf("'from' should start with 's3://' or 'dynamodb://', or temp_credentials must be false. from=%s", uri)
	}
	at, err := asPlace(uri)
	return grant{at, "s3:GetObject"}, err
}

type statement struct {
	Effect, Resource string
	Action           []string
}

// policyText returns a policy that allows only the grants.
func policyText(grants []grant) string {
	var list []statement
	for _, g := range grants {
		if g.do == "" {
			list = append(list, statement{"Allow", "arn:aws:dynamodb:*:*:table/" + g.at.bucket, []string{"dynamodb:DescribeTable", "dynamodb:Scan"}})
			continue
		}
		list = append(list, statement{"Allow", "arn:aws:s3:::" + g.at.bucket, []string{"s3:ListBucket"}},
			statement{"Allow", "arn:aws:s3:::" + g.at.bucket + "/" + g.at.key + "*", []string{g.do}})
	}
	text, err := json.Marshal(map[string]any{"Version": "2012-10-17", "Statement": list})
	if err != nil {
		panic(err) // impossible for text
	}
	return string(text)
}
