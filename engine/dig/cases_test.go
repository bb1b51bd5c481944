package dig

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"zerodag/engine/param"
)

// casesFolder holds Digdag's recordings.
const casesFolder = "../../integration/conformance/cases"

// better lists the recordings whose push result we deliberately do not follow.
func better() []string {
	return []string{
		"l08-cron-delay",          // Digdag refuses its own documented key
		"l24-skip-delayed-by-bad", // Digdag finds this mistake only when it runs
	}
}

// recordedPush is the part of expected.json that a push determines.
type recordedPush struct {
	Push struct {
		OK      bool `json:"ok"`
		Message any  `json:"message"`
	} `json:"push"`
}

// TestRecordedPushes loads every recorded project and compares whether it is accepted.
func TestRecordedPushes(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob(filepath.Join(casesFolder, "*", "expected.json"))
	if err != nil || len(folders) == 0 {
		t.Fatalf("no recordings under %s: %v", casesFolder, err)
	}
	for _, expected := range folders {
		folder := filepath.Dir(expected)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			t.Parallel()
			var want recordedPush
			readJSON(t, expected, &want)
			_, err := Load(folderSource(folder), workflowFiles(t, folder))
			differs := slices.Contains(better(), filepath.Base(folder))
			if got := err == nil; (got == want.Push.OK) == differs {
				t.Errorf("accepted = %v, recorded %v\nours: %v\nrecorded: %v", got, want.Push.OK, err, want.Push.Message)
			}
			if err != nil {
				t.Logf("ours: %v\nrecorded: %v", err, want.Push.Message)
			}
		})
	}
}

// folderSource reads project files from a local folder.
func folderSource(folder string) Source {
	return func(name string) ([]byte, error) {
		text, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
		if os.IsNotExist(err) {
			return nil, ErrNotFound
		}
		return text, err
	}
}

func workflowFiles(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.Type()&fs.ModeDir == 0 && strings.HasSuffix(e.Name(), Suffix) && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names
}

// mapSource serves project files from a map.
func mapSource(files map[string]string) Source {
	return func(name string) ([]byte, error) {
		text, ok := files[name]
		if !ok {
			return nil, ErrNotFound
		}
		return []byte(text), nil
	}
}

// mustMap parses JSON into a config.
func mustMap(t testing.TB, text string) *param.Map {
	t.Helper()
	v, err := param.ParseJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	return v.(*param.Map)
}
