package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zerodag/cmd/zerodag/internal/cli"
	stage "zerodag/infra/settings"
	"zerodag/internal/httpapi/access"
)

// TestIAMGrantsAgree checks that a deploy accepts exactly the grants to IAM principals that the API can read. A grant
// that the API cannot read would admit no one.
func TestIAMGrantsAgree(t *testing.T) {
	t.Parallel()
	for grant, right := range map[string]bool{
		"arn:aws:iam::111122223333:role/a=owner": true, "arn:aws-cn:iam::111122223333:user/a/b=viewer/7": true, "arn:aws:iam::111122223333:root=admin": true,
		"arn:aws:iam::111122223333:role/service-role/x.y/a=b,c@d=operator/0": true, "arn:aws:iam::111122223333:role/a=owner/999999999999999999": true,
		"": false, "arn:aws:iam::111122223333:role/a": false, "arn:aws:iam::111122223333:role/a=king": false, "arn:aws:iam::111122223333:role/a=owner/": false,
		"arn:aws:iam::111122223333:role/a=owner/9999999999999999999": false, "arn:aws:iam::111122223333:role/*=owner": false, "arn:aws:iam::1:role/a=owner": false,
		"arn:aws:iam::111122223333:role/=owner": false, "arn:aws:iam::111122223333:role//a=owner": false, "arn:aws:iam::111122223333:group/a=owner": false, "*=owner": false,
		"arn:aws:sts::111122223333:assumed-role/a/b=owner": false, "arn:aws:iam::111122223333:root/a=owner": false, "group:a=owner": false, "arn:aws:iam::111122223333:role/a =owner": false,
	} {
		s := stage.Default("main")
		s.IAMGrants = []string{grant}
		_, err := access.ParsePrincipals(s.IAMGrants)
		if deploys := s.Validate() == nil; deploys != right || (err == nil) != right {
			t.Errorf("%q: a deploy takes it: %v, the API reads it: %v (%v), want %v", grant, deploys, err == nil, err, right)
		}
	}
}

// TestAWSDoctor checks that the checks of an account are printed as lines, that a failed check means exit code 1, that
// the checked settings are those in the cdk command's arguments, that scripts can learn whether a stage is deployed,
// and that the report names the state of a stage that was switched off and on.
func TestAWSDoctor(t *testing.T) {
	role := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		switch _, target, _ := strings.Cut(r.Header.Get("X-Amz-Target"), "."); {
		case r.Form.Get("Action") == "GetCallerIdentity":
			fmt.Fprint(w, `<R><GetCallerIdentityResult><Arn>arn:aws:iam::111111111111:user/me</Arn><Account>111111111111</Account></GetCallerIdentityResult></R>`)
		case r.Form.Get("Action") == "GetRole" && !role:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `<ErrorResponse><Error><Code>NoSuchEntity</Code></Error></ErrorResponse>`)
		case r.Form.Get("Action") == "CreateServiceLinkedRole":
			role = true
			fmt.Fprint(w, `<R><CreateServiceLinkedRoleResult></CreateServiceLinkedRoleResult></R>`)
		case r.Form.Get("Action") == "GetRole":
			fmt.Fprint(w, `<R><GetRoleResult></GetRoleResult></R>`)
		case r.Form.Get("Action") == "GetTemplate" && r.Form.Get("StackName") == "zerodag-prod":
			fmt.Fprint(w, `<R><GetTemplateResult><TemplateBody>{"Resources": {"a": {"Type": "AWS::Lambda::Function", "Properties": {"FunctionName": "zerodag-prod-agent", "ReservedConcurrentExecutions": 20}},
				"t": {"Type": "AWS::Lambda::Function", "Properties": {"FunctionName": "zerodag-prod-tick"}}}}</TemplateBody></GetTemplateResult></R>`)
		case r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/concurrency"):
			fmt.Fprint(w, `{}`)
		case r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, "/concurrency"):
			w.WriteHeader(http.StatusNoContent)
		case target == "ListTasks":
			fmt.Fprint(w, `{"taskArns":[]}`)
		case target == "DescribeTable":
			w.Header().Set("X-Amzn-Errortype", "ResourceNotFoundException")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"__type":"ResourceNotFoundException"}`)
		default:
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"__type":"AccessDeniedException"}`)
		}
	}))
	defer server.Close()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "prod.yaml"), []byte("agents: 20\nspot: true\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"AWS_ENDPOINT_URL": server.URL, "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "eu-central-1", "AWS_MAX_ATTEMPTS": "1"} {
		t.Setenv(name, value)
	}
	for _, x := range []struct {
		arguments string
		code      int
		says      []string
	}{
		{"aws doctor prod --stages " + folder, 1, []string{"ok       account: 111111111111 in eu-central-1", "fail     ecs role", "-> aws iam create-service-linked-role", "unknown  bootstrap", "stage prod cannot be deployed: 1 of"}},
		{"aws doctor prod --stages " + folder + " -- -c spot=false --require-approval never", 0, []string{"ok       ecs role: the account has no service-linked role for ECS yet"}},
		{"aws doctor prod --stages " + folder + " -- -c sopt=false", 1, []string{`unknown setting "sopt" (did you mean spot?)`}},
		{"aws doctor prod more --stages " + folder, 2, []string{"unexpected argument: more"}},
		{"aws doctor --create-role prod --output json --stages " + folder, 0, []string{`"check": "ecs role"`, `"level": "ok"`}},
		{"aws doctor prdo --stages " + folder, 1, []string{"prdo.yaml"}},
		{"aws deployed", 0, []string{"no\n"}},
		{"aws stop", 2, []string{"arg"}},
		{"aws stop prod", 0, []string{"warning: MicroVMs of the stage may run for up to 8 hours: read the configuration of the agent", "stage prod is switched off; 0 machines on Fargate and 0 MicroVMs were stopped", "zerodag aws start prod"}},
		{"aws start", 2, []string{"arg"}},
		{"aws start prod", 0, []string{"stage prod is switched on\n", "zerodag-prod-agent has a reserved concurrency of 20\n", "zerodag-prod-tick has no reserved concurrency\n"}},
		{"aws start main", 1, []string{"cloudformation:GetTemplate"}},
	} {
		var out, errs bytes.Buffer
		code := run(t.Context(), strings.Fields(x.arguments), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, ProgramVersion: version()})
		text := out.String() + errs.String()
		for _, want := range x.says {
			if !strings.Contains(text, want) {
				t.Errorf("%s says %q, want %q", x.arguments, text, want)
			}
		}
		if code != x.code {
			t.Errorf("%s ended with %d: %s", x.arguments, code, text)
		}
	}
}
