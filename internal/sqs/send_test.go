package sqs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"zerodag/internal/host"
)

// TestEncoding proves that every ID, group and body comes back unchanged, and that SQS gets nothing that it would
// refuse.
func TestEncoding(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := host.Message{ID: "a" + rapid.String().Draw(t, "id"), Group: rapid.String().Draw(t, "group"), Body: rapid.SliceOf(rapid.Byte()).Draw(t, "body")}
		body, attributes := encode(m)
		if body == "" || !taken([]byte(body)) {
			t.Fatalf("the body is %q, which SQS refuses", body)
		}
		got, err := decode(body, attributes)
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Body) == 0 {
			m.Body = nil
		}
		if diff := cmp.Diff(m, got); diff != "" {
			t.Fatalf("(-sent +received):\n%s", diff)
		}
	})
}

// TestPlainID checks that IDs that SQS refuses are hashed and all others are kept unchanged.
func TestPlainID(t *testing.T) {
	t.Parallel()
	for id, kept := range map[string]bool{"12/done/3": true, strings.Repeat("x", 128): true, strings.Repeat("x", 129): false, "a b": false, "ä": false} {
		if got := plainID(id); (got == id) != kept || len(got) > maxID {
			t.Errorf("id %q became %q", id, got)
		}
	}
}

// TestForeign proves that messages that zerodag did not send are refused.
func TestForeign(t *testing.T) {
	t.Parallel()
	for name, attributes := range map[string]map[string]string{"no id": {}, "an encoding of tomorrow": {attrID: "a", attrEncoding: "zstd"}, "no base64": {attrID: "a", attrEncoding: base64Coded}} {
		if m, err := decode("?", attributes); err == nil {
			t.Errorf("%s: received %+v", name, m)
		}
	}
}
