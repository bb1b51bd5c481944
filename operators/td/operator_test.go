package td_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/integration/tdfake"
	"zerodag/operators"
	"zerodag/operators/operatortest"
	"zerodag/operators/td"
)

// operator returns the operator with the given name.
func operator(t *testing.T, name string) operators.Operator {
	t.Helper()
	for _, o := range td.Operators() {
		if o.Name == name {
			return o
		}
	}
	t.Fatalf("there is no %s>", name)
	return operators.Operator{}
}

// bed is a service with an endpoint.
type bed struct {
	*tdfake.Server
	endpoint string
}

func newBed(t *testing.T) *bed {
	t.Helper()
	s := tdfake.New()
	return &bed{s, s.Start(t)}
}

// grant gives a task the secrets that it needs to reach the service.
func (b *bed) grant(_ *testing.T, w *operatortest.World) {
	w.Vault["td.apikey"], w.Vault["td.endpoint"], w.Vault["td.use_ssl"] = tdfake.Key, b.endpoint, "false"
}

// world returns a task that reaches the service, with the database sample_datasets unless params contain another.
func (b *bed) world(t *testing.T, params string) *operatortest.World {
	t.Helper()
	tree := operatortest.Map(t, `{"database": "sample_datasets"}`)
	w := operatortest.New(t, param.Text(param.Merge(tree, operatortest.Map(t, params))))
	w.Config = operatortest.Map(t, `{"td": {"call_retry_interval": "0s"}}`)
	b.grant(t, w)
	return w
}

// sent returns the requests as lines, with KEY in place of the domain key.
func (b *bed) sent() []string {
	var lines []string
	for _, r := range b.Requests() {
		for _, form := range []map[string][]string{r.Form, r.Query} {
			if len(form["domain_key"]) > 0 {
				form["domain_key"] = []string{"KEY"}
			}
		}
		if at := strings.Index(r.Body, `"domain_key":"`); at >= 0 {
			rest := r.Body[at+len(`"domain_key":"`):]
			_, rest, _ = strings.Cut(rest, `"`)
			r.Body = r.Body[:at] + `"domain_key":"KEY"` + rest
		}
		lines = append(lines, r.String())
	}
	return lines
}

// same fails the test if the wanted value and the actual value differ.
func same(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
