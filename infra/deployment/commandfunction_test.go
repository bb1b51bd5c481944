package deployment

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// commandFunction checks the function that runs users' commands: it may only write its own log, gets no settings of the
// engine, and only the agent may call it.
func commandFunction(t *testing.T, m map[string]any) {
	found := 0
	for name, r := range resources(m) {
		p := properties(r)
		switch {
		case r["Type"] == "AWS::Lambda::Function" && p["FunctionName"] == "zerodag-main-commands":
			found++
			if p["Environment"] != nil || p["VpcConfig"] != nil || p["Layers"] != nil || p["Runtime"] != "python3.13" || fmt.Sprint(p["Architectures"]) != "[arm64]" ||
				p["Timeout"] != 600.0 || p["MemorySize"] != 1769.0 || fmt.Sprint(p["EphemeralStorage"]) != "map[Size:2048]" || !strings.Contains(fmt.Sprint(p["Role"]), "CommandFunctionRole") {
				t.Errorf("%s: %v", name, p)
			}
		case r["Type"] == "AWS::IAM::Role" && strings.HasPrefix(name, "CommandFunctionRole"):
			found++
			if p["ManagedPolicyArns"] != nil || p["Policies"] != nil {
				t.Errorf("%s has rights of its own: %v", name, p)
			}
		case r["Type"] == "AWS::IAM::Policy":
			found += commandFunctionRights(t, name, r)
		case r["Type"] == "AWS::Lambda::Permission" && strings.Contains(fmt.Sprint(p["FunctionName"]), "CommandFunction"):
			t.Errorf("%s lets others call the function", name)
		}
	}
	if found != 4 {
		t.Errorf("%d of function, role, its policy and the agent's right to call it were found, want 4", found)
	}
}

// commandFunctionRights checks a policy of the function's role or of a role that may call it.
func commandFunctionRights(t *testing.T, name string, r map[string]any) int {
	list := statements(r)
	if strings.Contains(fmt.Sprint(properties(r)["Roles"]), "CommandFunctionRole") {
		if len(list) != 1 || !slices.Equal(texts(list[0]["Action"]), []string{"logs:CreateLogStream", "logs:PutLogEvents"}) ||
			!strings.Contains(strings.Join(texts(list[0]["Resource"]), ""), "CommandFunctionLog") || len(texts(list[0]["Resource"])) != 1 {
			t.Errorf("%s: the function may do more than write its log: %v", name, list)
		}
		return 1
	}
	for _, s := range list {
		if !slices.Contains(texts(s["Action"]), "lambda:InvokeFunction") || !strings.Contains(fmt.Sprint(s["Resource"]), "CommandFunction") {
			continue
		}
		if !strings.HasPrefix(name, "agentRole") || len(texts(s["Resource"])) != 1 {
			t.Errorf("%s may call the function, or more: %v", name, s)
		}
		return 1
	}
	return 0
}
