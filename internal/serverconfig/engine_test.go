package serverconfig

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"zerodag/internal/configuration"
	"zerodag/internal/embedded"
)

// TestDatabases proves that database.type accepts and selects each kind of database.
func TestDatabases(t *testing.T) {
	t.Parallel()
	for _, name := range embedded.Databases() {
		s := configuration.Settings{"database.type": name, "database.path": t.TempDir()}
		if err := s.StayHere(false, false); err != nil {
			t.Errorf("add it to the places of internal/configuration: %v", err)
		}
		if o, err := (&CommandLine{}).embeddedOptions(s.Reading()); err != nil || o.Kind != name || o.Folder != s["database.path"] {
			t.Errorf("database.type = %s selects %q in %q (%v)", name, o.Kind, o.Folder, err)
		}
	}
}

// TestRetention proves that old data is removed by default, except for the audit log, that archives are kept as long as
// the attempts that may need them, and that each setting can keep data forever.
func TestRetention(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	type kept struct{ attempts, archives, logs, records time.Duration }
	for _, c := range []struct {
		config string
		want   kept
	}{
		{"", kept{365 * day, 365 * day, 0, 0}},
		{"retention.attempts = forever", kept{}},
		{"retention.attempts = 90d\nretention.logs = 30d\nretention.audit = 400d", kept{90 * day, 90 * day, 30 * day, 400 * day}},
		{"retention.archives = forever\nretention.audit = forever", kept{attempts: 365 * day}},
	} {
		name := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(name, []byte(c.config), 0o600); err != nil {
			t.Fatal(err)
		}
		line, flags := CommandLine{}, pflag.NewFlagSet("server", pflag.ContinueOnError)
		line.Register(flags, "", "")
		if err := flags.Parse([]string{"-c", name, "-m"}); err != nil {
			t.Fatal(err)
		}
		r, err := line.Read(flags)
		if err != nil {
			t.Fatal(err)
		}
		o, err := line.Options(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		l := o.Engine.Limits
		if got := (kept{l.KeepAttempts, l.KeepArchives, l.KeepLogs, l.KeepRecords}); got != c.want {
			t.Errorf("%q: %v, want %v", c.config, got, c.want)
		}
	}
}
