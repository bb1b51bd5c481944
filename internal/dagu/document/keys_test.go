package document

import (
	"strings"
	"testing"
	"unicode"
)

// TestSnake proves that each key is recognized if it is written as one word in any case, and that unknown keys get
// underscores where words begin.
func TestSnake(t *testing.T) {
	t.Parallel()
	for _, table := range []map[string]Key{TopKeys(), StepKeys()} {
		for name := range table {
			for _, other := range []string{name, camel(name), strings.ReplaceAll(name, "_", ""), strings.ToUpper(name)} {
				if got := snake(other); got != name {
					t.Errorf("%s is %s, and not %s", other, got, name)
				}
			}
		}
	}
	for name, want := range map[string]string{
		"intervalSec": "interval_sec", "exitCode": "exit_code", "markSuccess": "mark_success", "maxConcurrent": "max_concurrent", "maxIntervalSec": "max_interval_sec",
		"disableSSL": "disable_ssl", "baseURL": "base_url", "accessKeyId": "access_key_id", "strictHostKey": "strict_host_key", "negate": "negate", "precondition": "preconditions",
	} {
		if got := snake(name); got != want {
			t.Errorf("%s is %s, and not %s", name, got, want)
		}
	}
}

func camel(name string) string {
	var b strings.Builder
	up := false
	for _, r := range name {
		if r == '_' {
			up = true
			continue
		}
		if up {
			r = unicode.ToUpper(r)
		}
		up = false
		b.WriteRune(r)
	}
	return b.String()
}
