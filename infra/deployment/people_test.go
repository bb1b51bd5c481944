package deployment

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aws/jsii-runtime-go"
	"github.com/google/go-cmp/cmp"

	"zerodag/infra/settings"
)

// TestPeople checks what a stage with a user pool has in addition, and that a stage without one has none of it.
func TestPeople(t *testing.T) {
	defer jsii.Close()
	with := template(t, where, func(s *settings.Settings) { s.Cognito = true })
	t.Run("golden", func(t *testing.T) { goldenPeople(t, with) })
	t.Run("rights", func(t *testing.T) { rights(t, with) })
	t.Run("no circle", func(t *testing.T) { noCircle(t, with) })
	t.Run("the secret is nowhere", func(t *testing.T) { secretNowhere(t, with) })
	t.Run("no user pool", func(t *testing.T) {
		for name, r := range resources(template(t, where, nil)) {
			if kind := r["Type"].(string); strings.HasPrefix(kind, "AWS::Cognito::") || strings.HasPrefix(kind, "AWS::SecretsManager::") || strings.Contains(fmt.Sprint(r), "secretsmanager") {
				t.Errorf("%s is made, or named, though nobody asks for a user pool", name)
			}
		}
	})
	t.Run("as one likes", func(t *testing.T) {
		asOneLikes(t, template(t, where, func(s *settings.Settings) {
			s.Cognito, s.CognitoDomain, s.CognitoMFA, s.DeletionProtection = true, "flows-of-acme", "required", false
			s.Domain, s.Certificate = "flows.example.com", "arn:aws:acm:eu-central-1:111111111111:certificate/x"
			s.IAMGrants = []string{"arn:aws:iam::111122223333:role/a=admin/7", "arn:aws:iam::111122223333:root=viewer"}
			s.OIDCGrants = []string{"group:a/b=viewer", "boss@example.com=owner", "group:a-b=admin"}
		}))
	})
}

// ofPeople returns the resources of the user pool, and the settings and rights of the API's function for it.
func ofPeople(m map[string]any) map[string]any {
	all := map[string]any{}
	for name, r := range resources(m) {
		switch kind := r["Type"].(string); {
		case strings.HasPrefix(kind, "AWS::Cognito::"), strings.HasPrefix(kind, "AWS::SecretsManager::"):
			all[name] = r
		case kind == "AWS::Lambda::Function" && properties(r)["FunctionName"] == "zerodag-main-api":
			all[name] = properties(r)["Environment"].(map[string]any)["Variables"].(map[string]any)["ZERODAG_OIDC"]
		case kind == "AWS::IAM::Policy":
			for _, s := range statements(r) {
				if strings.Contains(fmt.Sprint(s), "secretsmanager") {
					all[fmt.Sprint(name, " ", s["Action"])] = s
				}
			}
		}
	}
	return all
}

func goldenPeople(t *testing.T, m map[string]any) {
	text, err := json.MarshalIndent(ofPeople(m), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	const file = "testdata/people.json"
	if *rewrite {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(text), "\n")); diff != "" {
		t.Errorf("the user pool changed (-want +got); `go test ./infra/deployment -run TestPeople -rewrite` writes it:\n%s", diff)
	}
}

// noCircle checks that the references form no cycle, so that CloudFormation can create the resources one after the
// other: the API, the client that sends browsers back to it, and the functions that get the client as a setting.
func noCircle(t *testing.T, m map[string]any) {
	all := resources(m)
	needs := func(name string) []string {
		found := map[string]bool{}
		var walk func(v any)
		walk = func(v any) {
			switch v := v.(type) {
			case map[string]any:
				if ref, ok := v["Ref"].(string); ok {
					found[ref] = true
				}
				if get, ok := v["Fn::GetAtt"].([]any); ok {
					found[get[0].(string)] = true
				}
				for _, x := range v {
					walk(x)
				}
			case []any:
				for _, x := range v {
					walk(x)
				}
			}
		}
		walk(all[name])
		for _, other := range texts(all[name]["DependsOn"]) {
			found[other] = true
		}
		return slices.Sorted(maps.Keys(found))
	}
	state := map[string]int{} // 1: in progress, 2: done
	var visit func(name string, path []string)
	visit = func(name string, path []string) {
		switch {
		case all[name] == nil || state[name] == 2:
			return
		case state[name] == 1:
			t.Errorf("a circle: %v", append(path, name))
			return
		}
		state[name] = 1
		for _, other := range needs(name) {
			visit(other, append(path, name))
		}
		state[name] = 2
	}
	for name := range all {
		visit(name, nil)
	}
	if len(state) < 50 {
		t.Errorf("only %d resources were looked at", len(state))
	}
}

// secretNowhere checks that only the secret itself contains the client's secret, and no variable, output or policy
// does.
func secretNowhere(t *testing.T, m map[string]any) {
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), `"ClientSecret"`); n != 1 {
		t.Errorf("the client's secret is asked for %d times, want once: by the secret", n)
	}
}

func asOneLikes(t *testing.T, m map[string]any) {
	count := map[string]int{}
	for _, r := range resources(m) {
		kind, p := r["Type"].(string), properties(r)
		count[kind]++
		switch kind {
		case "AWS::Cognito::UserPool":
			if p["MfaConfiguration"] != "ON" || p["DeletionProtection"] != "INACTIVE" || r["DeletionPolicy"] != "RetainExceptOnCreate" {
				t.Errorf("the pool: %v %v %v", p["MfaConfiguration"], p["DeletionProtection"], r["DeletionPolicy"])
			}
		case "AWS::Cognito::UserPoolDomain":
			if p["Domain"] != "flows-of-acme" {
				t.Errorf("its domain: %v", p["Domain"])
			}
		case "AWS::Cognito::UserPoolGroup":
			if p["GroupName"] != "a/b" && p["GroupName"] != "a-b" {
				t.Errorf("a group: %v", p["GroupName"])
			}
		case "AWS::Lambda::Function":
			if p["FunctionName"] != "zerodag-main-api" {
				continue
			}
			if got := properties(r)["Environment"].(map[string]any)["Variables"].(map[string]any)["ZERODAG_IAM_GRANTS"]; got != `["arn:aws:iam::111122223333:role/a=admin/7","arn:aws:iam::111122223333:root=viewer"]` {
				t.Errorf("the API is told of the grants %v", got)
			}
		case "AWS::Cognito::UserPoolClient":
			if got := fmt.Sprint(p["CallbackURLs"]); got != "[https://flows.example.com/api/x/session/oidc/callback]" {
				t.Errorf("browsers are redirected back to %s", got)
			}
		}
	}
	if count["AWS::Cognito::UserPoolGroup"] != 2 {
		t.Errorf("%d groups", count["AWS::Cognito::UserPoolGroup"])
	}
}
