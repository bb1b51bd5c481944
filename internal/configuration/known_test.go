package configuration

import (
	"strings"
	"testing"
)

// TestSlips proves that a key counts as a misspelling of another only if one letter differs or two neighboring letters
// are swapped, because Digdag has keys that are similar to this server's other keys.
func TestSlips(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		key, known string
		want       bool
	}{
		{"server.prot", "server.port", true}, {"server.por", "server.port", true}, {"server.portt", "server.port", true}, {"server.pord", "server.port", true},
		{"database.port", "database.path", false}, {"database.user", "database.type", false}, {"archive.s3.path", "archive.local.path", false},
		{"server.port", "server.port", false}, {"port", "server.port", false}, {"sevrer.prot", "server.port", false},
		{"parms.day", "params.*", true}, {"params.dya", "params.*", false}, {"client.http.header.X-A", "client.http.headers.*", true}, {"clients", "client.http.headers.*", false},
	} {
		if got := isSlip(c.key, c.known); got != c.want {
			t.Errorf("%s for %s: %v", c.key, c.known, got)
		}
	}
}

// TestNestedNote proves that a configuration whose keys are nested is explained.
func TestNestedNote(t *testing.T) {
	t.Parallel()
	for keys, want := range map[string]string{
		"port server": "server.port = VALUE", `{"server"`: "server.port = VALUE", "[database]": "database.port = VALUE", "agent type": "agent.command_executor.allow = VALUE",
		"my.key other": "", "": "", "port": "",
	} {
		got := NestedNote(strings.Fields(keys))
		if (got == "") != (want == "") || !strings.HasSuffix(got, want) {
			t.Errorf("%s: %q, want %q", keys, got, want)
		}
	}
}

// TestPlacesAreKeys proves that the table of keys contains each key that may be refused because it names another place.
func TestPlacesAreKeys(t *testing.T) {
	t.Parallel()
	for _, p := range places {
		if !IsKey(strings.Replace(p.key, "*", "x", 1)) {
			t.Errorf("settingKeys lacks %s, which may be refused", p.key)
		}
	}
}
