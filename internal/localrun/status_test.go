package localrun

import (
	"os"
	"strings"
	"testing"
	"time"

	"zerodag/engine"
)

// TestLongNamesAreSaved proves that each task's state is saved in a separate file, however long its name is, and that
// names that are short enough have Digdag's form.
func TestLongNamesAreSaved(t *testing.T) {
	t.Parallel()
	f := &statusFolder{dir: t.TempDir()}
	for _, name := range []string{"+w/a+b", "+" + strings.Repeat("n", 300) + "1", "+" + strings.Repeat("n", 300) + "2", "+" + strings.Repeat("名", 200)} {
		if f.read(name) != nil {
			t.Errorf("%s has the file of another", name)
		}
		f.save(&engine.Task{Name: name}, engine.Stored{})
		if f.failed != nil || f.read(name) == nil {
			t.Errorf("%s: %v", name, f.failed)
		}
	}
	if got := fileName("+w/a+b"); got != "+w%2Fa+b" {
		t.Errorf("%s", got)
	}
}

// TestWrongState proves that a file without a valid saved success counts as missing, so that the task runs again.
func TestWrongState(t *testing.T) {
	t.Parallel()
	f := newStatusFolder(t.TempDir(), time.Unix(0, 0))
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		"": false, "- a\n": false, "{": false, "state: error\n": false, "state: [success]\n": false, "\x00\xff": false, "state: success\nzerodag_rerun: true\n": false,
		"state: success\n": true, "state: success\nresult: text\n": true, "state: success\nresult: {storeParams: [1], resetStoreParams: {a: b}}\n": true,
		"state: success\nresult:\n  storeParams: {a: 1}\n  resetStoreParams: [a.b, 1]\n": true,
	} {
		if err := os.WriteFile(f.path("+w"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := f.read("+w"); (got != nil) != want {
			t.Errorf("%q: %+v", text, got)
		}
	}
	if got := f.read("+w/../../w"); got != nil {
		t.Errorf("a name that leads out: %+v", got)
	}
	if err := os.Remove(f.dir + "/+w.yml"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(f.path("+w"), 0o755); err != nil {
		t.Fatal(err)
	}
	if f.save(&engine.Task{Name: "+w"}, engine.Stored{}); f.close() == nil || !strings.Contains(f.close().Error(), "save the state of task +w") {
		t.Errorf("a folder in its place: %v", f.close())
	}
}
