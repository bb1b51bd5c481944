package contract

import (
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"zerodag/docs"
	"zerodag/engine/dig/keys"
	"zerodag/internal/catalogue/names"
	"zerodag/internal/host"
	"zerodag/internal/httpapi/wire"
)

// described reads docs/openapi.yaml.
func described(t *testing.T) *openapi3.Components {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(docs.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	return doc.Components
}

// TestLimits proves that docs/openapi.yaml has the limits of the code.
func TestLimits(t *testing.T) {
	t.Parallel()
	c := described(t)
	property := func(schema, name string) *openapi3.Schema { return c.Schemas[schema].Value.Properties[name].Value }
	for name, limit := range map[string]struct {
		got  *uint64
		want int
	}{
		"tags of a search":     {c.Parameters["Tag"].Value.Schema.Value.MaxItems, keys.MostTags},
		"labels of a search":   {c.Parameters["Label"].Value.Schema.Value.MaxItems, keys.MostTags},
		"labels of an attempt": {c.Schemas["Labels"].Value.MaxProps, keys.MostTags},
		"length of a label":    {c.Schemas["Labels"].Value.AdditionalProperties.Schema.Value.MaxLength, keys.LongestLabel},
		"length of a reason":   {property("PauseRequest", "reason").MaxLength, names.MostReason},
		"marked tasks":         {property("RerunRequest", "markSuccess").MaxItems, wire.MostMarked},
	} {
		if limit.got == nil || *limit.got != uint64(limit.want) {
			t.Errorf("%s: described is %v, want %d", name, limit.got, limit.want)
		}
	}
	if slots := property("PoolRequest", "slots"); slots.Max == nil || *slots.Max != host.MaxPoolSlots {
		t.Errorf("slots of a pool: described is %v, want %d", slots.Max, host.MaxPoolSlots)
	}
}

// TestForms proves that docs/openapi.yaml allows the names that the code allows, and no others.
func TestForms(t *testing.T) {
	t.Parallel()
	c := described(t)
	label := func(text string) error {
		name, value, isPair := strings.Cut(text, "=")
		if fault := keys.LabelFault(name, value); fault != "" || !isPair {
			return host.Invalidf("%s", fault)
		}
		return nil
	}
	forms := map[string]struct {
		schema *openapi3.Schema
		check  func(string) error
	}{
		"pool":    {c.Parameters["PoolName"].Value.Schema.Value, names.Pool},
		"project": {c.Schemas["ProjectName"].Value, names.Project},
		"attempt": {c.Schemas["RetryName"].Value, names.Retry},
		"label":   {c.Parameters["Label"].Value.Schema.Value.Items.Value, label},
	}
	for name, form := range forms {
		allowed := 0
		for _, text := range []string{"", " ", "a", "a.b-c_d", "-a", ".", "..", "a/b", "A1", "a b", "a\x00", "a\nb", "\x7f", "\u0085", "\u061c", "\u200e", "\u2028", "\u202e", "\u2069",
			"日本", "team=sales", "=x", "team=", "team=a=b", "te am=x", "team=\x1f", "team=日本", "team=\u0085", strings.Repeat("a", 64) + "=x", strings.Repeat("a", 65) + "=x",
			"x=" + strings.Repeat("a", 200), "x=" + strings.Repeat("a", 201), strings.Repeat("a", 100), strings.Repeat("a", 101), strings.Repeat("a", 255), strings.Repeat("a", 256)} {
			described, checked := form.schema.VisitJSON(text, openapi3.EnableJSONSchema2020()) == nil, form.check(text) == nil
			if described != checked {
				t.Errorf("%s %q: allowed by openapi.yaml %t, by the code %t", name, text, described, checked)
			}
			if checked {
				allowed++
			}
		}
		if allowed < 3 {
			t.Errorf("%s: only %d of the names are allowed", name, allowed)
		}
	}
}
