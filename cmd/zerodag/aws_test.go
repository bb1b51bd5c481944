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
)

// TestAWSDoctor proves that the checks of an account are lines, that what would fail is exit code 1,
// and that scripts learn whether a stage is deployed.
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
		{"aws doctor prod --stages " + folder, 1, []string{"ok       account: 111111111111 in eu-central-1", "fail     ecs role", "-> aws iam create-service-linked-role", "unknown  bootstrap", "a deploy of stage prod would fail: 1 of"}},
		{"aws doctor prod --create-role --output json --stages " + folder, 0, []string{`"check": "ecs role"`, `"level": "ok"`}},
		{"aws doctor prdo --stages " + folder, 1, []string{"prdo.yaml"}},
		{"aws deployed", 0, []string{"no\n"}},
		{"aws stop", 2, []string{"arg"}},
	} {
		var out, errs bytes.Buffer
		code := run(t.Context(), strings.Fields(x.arguments), streams{strings.NewReader(""), &out, &errs})
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
