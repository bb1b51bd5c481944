package deployment

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/jsii-runtime-go"

	"zerodag/infra/settings"
)

// hidden changes the settings to those of a stage whose API answers only in private networks.
func hidden(s *settings.Settings) {
	s.API, s.APIEndpoints = "private", []string{"vpce-1", "vpce-2"}
	s.Domain, s.Certificate, s.MachinesURL = "flows.example.com", "arn:aws:acm:eu-central-1:111111111111:certificate/x", "domain"
}

// TestPrivate checks what a stage with a private API consists of.
func TestPrivate(t *testing.T) {
	defer jsii.Close()
	m := template(t, where, hidden)
	kinds := map[string]int{}
	for name, r := range resources(m) {
		kind, p := r["Type"].(string), properties(r)
		kinds[kind]++
		switch kind {
		case "AWS::ApiGateway::RestApi":
			if e := p["EndpointConfiguration"].(map[string]any); fmt.Sprint(e["Types"], e["VpcEndpointIds"]) != "[PRIVATE] [vpce-1 vpce-2]" {
				t.Errorf("the API answers at %v", e)
			}
			t.Run("who may call", func(t *testing.T) { mayCall(t, p["Policy"]) })
		case "AWS::ApiGateway::Stage":
			if text := fmt.Sprint(p["MethodSettings"]); strings.Count(text, "ThrottlingRateLimit") != 5 {
				t.Errorf("the stage has the limits %s", text)
			}
		case "AWS::ApiGateway::DomainNameAccessAssociation":
			if id := fmt.Sprint(p["AccessAssociationSource"]); !strings.HasPrefix(id, "vpce-") {
				t.Errorf("the domain is for %s", id)
			}
		case "AWS::Lambda::Function":
			if text := fmt.Sprint(p["Environment"]); strings.Contains(text, "PrivateApi") {
				t.Errorf("%s is told the address of API Gateway, which needs the function first: %s", name, text)
			}
		}
		if strings.HasPrefix(kind, "AWS::ApiGatewayV2::") {
			t.Errorf("%s is an API that the internet can reach", name)
		}
	}
	for kind, n := range map[string]int{"AWS::ApiGateway::RestApi": 1, "AWS::ApiGateway::DomainNameV2": 1, "AWS::ApiGateway::BasePathMappingV2": 1, "AWS::ApiGateway::DomainNameAccessAssociation": 2, "AWS::ApiGateway::Account": 0} {
		if kinds[kind] != n {
			t.Errorf("%d %s, want %d", kinds[kind], kind, n)
		}
	}
	if url := m["Outputs"].(map[string]any)["Url"].(map[string]any)["Value"]; url != "https://flows.example.com" {
		t.Errorf("the URL is %v", url)
	}
	t.Run("signed", func(t *testing.T) { signedMethods(t, m) })
}

// signedMethods checks that exactly the methods below /iam accept only signed requests.
func signedMethods(t *testing.T, m map[string]any) {
	all := resources(m)
	var path func(id any) string
	path = func(id any) string {
		ref, _ := id.(map[string]any)
		name, _ := ref["Ref"].(string)
		if name == "" {
			return "" // the root
		}
		p := properties(all[name])
		return path(p["ParentId"]) + "/" + p["PathPart"].(string)
	}
	seen := map[bool]int{}
	for name, r := range all {
		if r["Type"] != "AWS::ApiGateway::Method" {
			continue
		}
		p := properties(r)
		at := path(p["ResourceId"])
		signed := p["AuthorizationType"] == "AWS_IAM"
		if seen[signed]++; signed != strings.HasPrefix(at, "/iam/") {
			t.Errorf("%s: %v %s is %v", name, p["HttpMethod"], at, p["AuthorizationType"])
		}
	}
	if seen[true] < 5 || seen[false] < 5 {
		t.Errorf("methods: %v", seen)
	}
}

// mayCall checks who may call the API under its resource policy. For a principal of the account, API Gateway accepts
// calls that either the policy or IAM allows, and never calls that the policy denies.
func mayCall(t *testing.T, document any) {
	verdict := func(context map[string]string) (allowed, denied bool) {
		for _, s := range document.(map[string]any)["Statement"].([]any) {
			s := s.(map[string]any)
			if !conditionsHold(t, s["Condition"].(map[string]any), context) {
				continue
			}
			allowed, denied = allowed || s["Effect"] == "Allow", denied || s["Effect"] == "Deny"
		}
		return allowed, denied
	}
	for name, c := range map[string]struct {
		context         map[string]string
		allowed, denied bool
	}{
		"with a token, through an endpoint":        {map[string]string{"aws:SourceVpce": "vpce-2"}, true, false},
		"with a token, through another endpoint":   {map[string]string{"aws:SourceVpce": "vpce-3"}, false, true},
		"with a token, from elsewhere":             {map[string]string{}, false, true},
		"signed, through an endpoint: IAM decides": {map[string]string{"aws:SourceVpce": "vpce-1", "aws:PrincipalArn": "arn:aws:iam::111111111111:user/u"}, false, false},
		"signed, through another endpoint":         {map[string]string{"aws:SourceVpce": "vpce-3", "aws:PrincipalArn": "arn:aws:iam::111111111111:user/u"}, false, true},
	} {
		if a, d := verdict(c.context); a != c.allowed || d != c.denied {
			t.Errorf("%s: allowed %v, denied %v", name, a, d)
		}
	}
}

// conditionsHold evaluates the operators that the policy uses. A negated operator holds for a key that the request
// lacks.
func conditionsHold(t *testing.T, conditions map[string]any, context map[string]string) bool {
	t.Helper()
	for operator, keys := range conditions {
		for key, want := range keys.(map[string]any) {
			value, there := context[key]
			list, isList := want.([]any)
			if !isList {
				list = []any{want}
			}
			var holds bool
			switch operator {
			case "StringEquals":
				holds = there && slices.Contains(list, any(value))
			case "StringNotEquals":
				holds = !there || !slices.Contains(list, any(value))
			case "Null":
				holds = there == (list[0] == "false")
			default:
				t.Fatalf("the test does not know %s", operator)
			}
			if !holds {
				return false
			}
		}
	}
	return true
}

// TestCovered checks that a REST API answers every path and method that the HTTP API answers, with the same function
// and the same authentication, whether or not API Gateway falls back to a greedy path further up.
func TestCovered(t *testing.T) {
	t.Parallel()
	public := []route{{method: anyMethod, path: "/{path+}", function: "api"}, {method: "GET", path: "/", function: "api"}, {method: anyMethod, path: "/iam/{path+}", function: "api", signed: true},
		{method: "GET", path: "/api/attempts/{id}/events", function: "api", rate: 4, burst: 4}, {method: "GET", path: "/iam/api/attempts/{id}/events", function: "api", signed: true, rate: 4, burst: 4},
		{method: anyMethod, path: "/runner/{path+}", function: "runners", rate: 9, burst: 9}}
	rest := covered(public)
	tree := map[string]map[string]route{}
	for _, r := range rest {
		if tree[r.path] == nil {
			tree[r.path] = map[string]route{}
		}
		tree[r.path][r.method] = r
	}
	children := map[string]string{}
	for path := range tree { // API Gateway refuses two variables below one resource
		parts := strings.Split(path, "/")
		for i := 1; i < len(parts); i++ {
			if parent := strings.Join(parts[:i], "/"); strings.HasPrefix(parts[i], "{") {
				if was := children[parent]; was != "" && was != parts[i] {
					t.Errorf("%s has the variables %s and %s", parent, was, parts[i])
				}
				children[parent] = parts[i]
			}
		}
	}
	for _, c := range []struct {
		method, path, function string
		signed                 bool
	}{
		{"GET", "/", "api", false}, {"GET", "/sessions", "api", false}, {"GET", "/attempts/1", "api", false}, {"PUT", "/api/attempts", "api", false}, {"GET", "/api/projects/1/workflows/x", "api", false},
		{"POST", "/api/attempts/1/kill", "api", false}, {"GET", "/api/attempts/1", "api", false}, {"GET", "/api/attempts/1/events", "api", false}, {"POST", "/api/attempts/1/events", "api", false},
		{"GET", "/api/attempts/1/history/2/tasks", "api", false}, {"GET", "/api", "api", false}, {"GET", "/iam/api/projects", "api", true}, {"GET", "/iam/api/attempts/1/events", "api", true},
		{"DELETE", "/iam/api/attempts/1/events", "api", true}, {"PUT", "/iam/api/attempts", "api", true}, {"GET", "/iam/x", "api", true}, {"POST", "/iam/api/attempts/1/a/b", "api", true},
		{"POST", "/runner/poll", "runners", false}, {"GET", "/runner/program", "runners", false},
	} {
		r, found := strict(tree, c.method, c.path)
		if !found || r.function != c.function || r.signed != c.signed {
			t.Errorf("%s %s leads to %+v, %v", c.method, c.path, r, found)
		}
	}
	if len(slices.Collect(maps.Keys(tree))) > 100 {
		t.Error("API Gateway takes 300 resources")
	}
}

// strict finds a route as an API Gateway that never falls back would: at each part of a path, it takes the named child,
// otherwise the variable.
func strict(tree map[string]map[string]route, method, path string) (route, bool) {
	at := ""
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if path == "/" {
		parts = nil
		at = "/"
	}
	exists := func(p string) bool {
		for known := range tree {
			if known == p || strings.HasPrefix(known, p+"/") {
				return true
			}
		}
		return false
	}
	for _, part := range parts {
		named := at + "/" + part
		one := ""
		for known := range tree {
			rest, below := strings.CutPrefix(known, at+"/{")
			if below && !strings.HasPrefix(rest, "path+") {
				one = at + "/{" + rest[:strings.Index(rest, "}")+1]
			}
		}
		switch {
		case exists(named):
			at = named
		case one != "":
			at = one
		case exists(at + greedy):
			at += greedy
			return pick(tree[at], method)
		default:
			return route{}, false
		}
	}
	return pick(tree[at], method)
}

func pick(of map[string]route, method string) (route, bool) {
	if r, there := of[method]; there {
		return r, true
	}
	r, there := of[anyMethod]
	return r, there
}
