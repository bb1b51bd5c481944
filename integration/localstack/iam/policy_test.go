package iam

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// TestBoundary checks, by IAM's rules in a simulator, that a deploy with the policy of infra/policy cannot create a
// role without the boundary, give a right to a role that lacks it, or remove the boundary from a role.
func TestBoundary(t *testing.T) {
	t.Parallel()
	judge, err := Open()
	if err != nil {
		if strings.Contains(os.Getenv("REQUIRE"), "localstack") {
			t.Fatal(err)
		}
		t.Skip("NOT RUN:", err)
	}
	t.Cleanup(func() { judge.Close() })
	text, err := os.ReadFile("../../../infra/policy/execution.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := judge.Role("execution", []json.RawMessage{text}); err != nil {
		t.Fatal(err)
	}
	const role, policies = "arn:aws:iam::" + Account + ":role/zerodag-main-apiRole-1A2B3C", "arn:aws:iam::" + Account + ":policy/"
	for _, x := range []struct {
		action, boundary string
		want             bool
	}{
		{"iam:CreateRole", policies + "zerodag-boundary", true},
		{"iam:CreateRole", "", false},
		{"iam:CreateRole", policies + "wide", false},
		{"iam:CreateRole", policies + "zerodag-boundary-2", false},
		{"iam:CreateRole", "arn:aws:iam::aws:policy/AdministratorAccess", false},
		{"iam:PutRolePolicy", policies + "zerodag-boundary", true},
		{"iam:PutRolePolicy", "", false},
		{"iam:PutRolePolicy", policies + "wide", false},
		{"iam:PutRolePermissionsBoundary", policies + "zerodag-boundary", true},
		{"iam:PutRolePermissionsBoundary", policies + "wide", false},
		{"iam:AttachRolePolicy", "", false},
		{"iam:AttachRolePolicy", policies + "zerodag-boundary", false},
		{"iam:DeleteRolePermissionsBoundary", policies + "zerodag-boundary", false},
	} {
		access := Access{Action: x.action, Resource: role}
		if x.boundary != "" {
			access.Context = map[string]string{"iam:PermissionsBoundary": x.boundary}
		}
		got, why, err := judge.Allows("execution", access)
		if err != nil || got != x.want {
			t.Errorf("%s with the boundary %q: %t (%s, %v), want %t", x.action, x.boundary, got, why, err, x.want)
		}
	}
	for _, action := range []string{"iam:CreatePolicyVersion", "iam:SetDefaultPolicyVersion", "iam:DeletePolicy"} {
		if got, why, err := judge.Allows("execution", Access{Action: action, Resource: policies + "zerodag-boundary"}); err != nil || got {
			t.Errorf("%s changes the boundary itself: %t (%s, %v)", action, got, why, err)
		}
	}
}
