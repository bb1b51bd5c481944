package serverconfig

import (
	"testing"

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
