package microvmfake

import (
	"net/url"
	"strings"
	"testing"
)

// TestModel checks that requests are checked against AWS's model: names, types and limits.
func TestModel(t *testing.T) {
	t.Parallel()
	const image = `"imageIdentifier":"` + Image + `"`
	for _, x := range []struct{ verb, path, query, body, want string }{
		{"POST", "/2025-09-09/microvms", "", `{` + image + `}`, ""},
		{"POST", "/2025-09-09/microvms", "", `{` + image + `,"logging":{"disabled":{}},"runHookPayload":"` + strings.Repeat("x", 4096) + `"}`, ""},
		{"POST", "/2025-09-09/microvms", "", `{}`, ".imageIdentifier: required"},
		{"POST", "/2025-09-09/microvms", "", `{` + image + `,"memory":1}`, "memory: unknown name in the body"},
		{"POST", "/2025-09-09/microvms", "", `{` + image + `,"maximumDurationInSeconds":28801}`, ".maximumDurationInSeconds: exceeds its limits: 28801"},
		{"POST", "/2025-09-09/microvms", "", `{` + image + `,"runHookPayload":"` + strings.Repeat("x", 4097) + `"}`, ".runHookPayload: exceeds its limits: 4097"},
		{"POST", "/2025-09-09/microvms", "", `{` + image + `,"executionRoleArn":"admin"}`, ".executionRoleArn: must match"},
		{"POST", "/2025-09-09/microvms", "", `{` + image + `,"logging":{"disabled":{},"cloudWatch":{}}}`, ".logging: must have exactly one"},
		{"POST", "/2025-09-09/microvms", "", `{` + image + `,"idlePolicy":{"autoResumeEnabled":true}}`, "required"},
		{"POST", "/2025-09-09/microvms", "", `{` + image + `,"egressNetworkConnectors":[1]}`, ".egressNetworkConnectors[0]: not a string"},
		{"GET", "/2025-09-09/microvms", "maxResults=50", "", ""},
		{"GET", "/2025-09-09/microvms", "maxResults=51", "", ".maxResults: exceeds its limits: 51"},
		{"GET", "/2025-09-09/microvms", "state=RUNNING", "", "?state: unknown query parameter"},
		{"GET", "/2025-09-09/microvms/a%2Fb", "", "", ""},
		{"DELETE", "/2025-09-09/microvms/a", "", "", ""},
		{"DELETE", "/2025-09-09/microvms", "", "", "no operation"},
	} {
		name, path := model().find(x.verb, x.path)
		query, _ := url.ParseQuery(x.query)
		got := "no operation"
		if name != "" {
			got = ""
			if _, err := model().request(name, path, query, []byte(x.body)); err != nil {
				got = err.Error()
			}
		}
		if x.want == "" && got != "" || !strings.Contains(got, x.want) {
			t.Errorf("%s %s?%s %s: got %q, want %q", x.verb, x.path, x.query, x.body, got, x.want)
		}
	}
}
