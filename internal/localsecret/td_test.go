package localsecret

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReadTDConf checks which values a run reads from td.conf.
func TestReadTDConf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]map[string]string{
		"[account]\n  user = foo@bar.com\n  apikey = 1/ab=c\n  usessl = true\n": {"td.apikey": "1/ab=c", "td.use_ssl": "true"},
		"apikey=k\nendpoint = https://api.treasuredata.co.jp/\n":                {"td.apikey": "k", "td.endpoint": "api.treasuredata.co.jp", "td.use_ssl": "true"},
		"endpoint = http://127.0.0.1:99":                                        {"td.endpoint": "127.0.0.1:99", "td.use_ssl": "false"},
		"endpoint = api.example.com":                                            {"td.endpoint": "api.example.com"},
		"endpoint=foo:bar":                                                      {"td.endpoint": "foo:bar"},
		"# apikey = x\n[apikey = y]\napikey =\nnonsense":                        {},
	} {
		if diff := cmp.Diff(want, readTDConf(text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

// FuzzReadTDConf proves that any file can be read safely.
func FuzzReadTDConf(f *testing.F) {
	f.Add("[account]\napikey = x\nendpoint = http://[::1]:2/%zz\n")
	f.Fuzz(func(t *testing.T, text string) {
		for key, value := range readTDConf(text) {
			if !strings.HasPrefix(key, "td.") || value == "" || strings.ContainsRune(value, '\n') {
				t.Errorf("%q gives %q = %q", text, key, value)
			}
		}
	})
}
