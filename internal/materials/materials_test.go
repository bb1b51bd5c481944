package materials

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestLocked proves that a bill lists materials outside Go as npm locks them, without development tools.
func TestLocked(t *testing.T) {
	t.Parallel()
	for file, wanted := range map[string]string{"../../engine/expr/assets/package-lock.json": "pkg:npm/moment@2.", "../../ui/package-lock.json": "pkg:npm/react@19."} {
		list, err := locked(file)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, c := range list {
			found = found || strings.HasPrefix(c.PURL, wanted)
			if c.Version == "" || strings.Contains(c.Name, "node_modules") || c.Name == "vite" || c.Name == "typescript" {
				t.Errorf("%s: %+v", file, c)
			}
		}
		if !found {
			t.Errorf("%s: %s... is not in %+v", file, wanted, list)
		}
	}
	if _, err := locked("../../go.mod"); err == nil {
		t.Error("a file that is no lock file is read")
	}
}

// TestBill proves that a program's bill names the modules from which it was linked, is the same each time, and has a
// time only if one is given, and that there is no bill for a file that is not a Go program. The program in this test is
// the test itself.
func TestBill(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	one, err := Bill(program, Subject{Name: "api"}, "../../ui/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	if two, err := Bill(program, Subject{Name: "api"}, "../../ui/package-lock.json"); err != nil || string(one) != string(two) {
		t.Errorf("two bills of one program differ: %v", err)
	}
	var read bill
	if err := json.Unmarshal(one, &read); err != nil || read.Metadata.Component.Name != "api" || strings.Contains(string(one), "timestamp") {
		t.Errorf("%v: %+v", err, read.Metadata)
	}
	for _, wanted := range []string{`"pkg:golang/std@1.`, `"pkg:npm/react@19.`} {
		if !strings.Contains(string(one), wanted) {
			t.Errorf("%s is not in it", wanted)
		}
	}
	if dated, err := Bill(program, Subject{Name: "z", Version: "1.2.3", Built: time.Unix(1_700_000_000, 0)}); err != nil || !strings.Contains(string(dated), `"timestamp": "2023-11-14T22:13:20Z"`) {
		t.Errorf("%v %s", err, dated)
	}
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Bill(text, Subject{Name: "z"}); err == nil {
		t.Error("a script has a bill")
	}
}
