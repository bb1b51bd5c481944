package localrun

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"zerodag/engine"
	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/internal/plainfile"
	"zerodag/operators"
)

// statusFolder is the folder with the saved state of one session in Digdag's format: one YAML file per succeeded task,
// so that either program can continue.
type statusFolder struct {
	dir    string
	failed error // the first write error
}

func newStatusFolder(saved string, session time.Time) *statusFolder {
	return &statusFolder{dir: filepath.Join(saved, session.Format(sessionForm))}
}

// saved returns the folder with the states of all sessions.
func (r *run) saved() string {
	switch {
	case r.Save == "":
		return r.Folder.StatusFolder()
	case filepath.IsAbs(r.Save):
		return r.Save
	}
	return filepath.Join(r.Folder.Root(), r.Save)
}

// longestFileName limits the length of a file name in Digdag's form: systems allow 255 bytes, some of which the
// extension and an unfinished file's temporary name need.
const longestFileName = 200

// fileName keeps names with slashes (workflows in subfolders) within the folder. If a name is too long for a file, a
// digest replaces its end.
func fileName(task string) string {
	name := strings.ReplaceAll(task, "/", "%2F")
	if len(name) <= longestFileName {
		return name
	}
	digest := fmt.Sprintf("~%x", sha256.Sum256([]byte(task)))
	return strings.ToValidUTF8(name[:longestFileName-len(digest)], "") + digest
}

func (f *statusFolder) path(task string) string {
	return filepath.Join(f.dir, fileName(task)+".yml")
}

// rerunKey marks the state of a loop over data: Digdag's format does not distinguish data from code, so the loop, which
// has no side effects, runs again.
const rerunKey = "zerodag_rerun"

// save writes a successful task's result and stored parameters: see engine.State.Kept. A reader sees either the whole
// file or none.
func (f *statusFolder) save(t *engine.Task, kept engine.Stored) {
	if f == nil || f.failed != nil {
		return
	}
	var o engine.Outcome
	if t.Outcome != nil {
		o = *t.Outcome
	}
	state := param.New("fullName", t.Name, "state", "success", "result", param.New(
		"subtaskConfig", orEmpty(o.Subtasks), "exportParams", orEmpty(o.Exports), "resetStoreParams", pathList(kept.Reset),
		"storeParams", orEmpty(kept.Stores), "report", param.New("inputs", []param.Value{}, "outputs", []param.Value{})))
	if o.Subtasks != nil && !param.Equal(o.Subtasks, param.CodeMap(o.Subtasks)) {
		state.Set(rerunKey, true)
	}
	if err := plainfile.Write(f.path(t.Name), dig.FormatYAML(state)); err != nil {
		remedy := "or use --no-save"
		if errors.Is(err, syscall.ENOSPC) {
			remedy = "free some space, or use --no-save"
		}
		f.failed = fmt.Errorf("save the state of task %s: %w (%s)", t.Name, err, remedy)
	}
}

// forget removes a task's saved success, if there is one.
func (f *statusFolder) forget(task string) {
	if f == nil || f.failed != nil {
		return
	}
	if err := os.Remove(f.path(task)); err != nil && !errors.Is(err, os.ErrNotExist) {
		f.failed = fmt.Errorf("remove the saved state of task %s, which runs again: %w (or use --no-save)", task, err)
	}
}

// forgetAll removes the saved successes of all tasks that `which` selects.
func (f *statusFolder) forgetAll(which func(task string) bool) {
	if f == nil {
		return
	}
	list, err := os.ReadDir(f.dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		f.failed = fmt.Errorf("read saved state: %w (or use --no-save)", err)
	}
	for _, entry := range list {
		name, isState := strings.CutSuffix(entry.Name(), ".yml")
		if task := f.taskOf(name); isState && which(task) {
			f.forget(task)
		}
	}
}

// taskOf returns the task whose state is in a file, which is named without ".yml".
func (f *statusFolder) taskOf(file string) string {
	if strings.Contains(file, "~") { // a digest may replace the end
		text, err := os.ReadFile(filepath.Join(f.dir, file+".yml"))
		v, parsed := dig.ParseYAML(file, text)
		if state, ok := v.(*param.Map); err == nil && parsed == nil && ok {
			if name, _ := state.Get("fullName"); name != nil {
				return fmt.Sprint(name)
			}
		}
	}
	return strings.ReplaceAll(file, "%2F", "/")
}

// close returns the first error that occurred while saving.
func (f *statusFolder) close() error {
	if f == nil {
		return nil
	}
	return f.failed
}

func orEmpty(m *param.Map) *param.Map {
	if m == nil {
		return param.New()
	}
	return m
}

func pathList(paths [][]string) []param.Value {
	list := []param.Value{}
	for _, p := range paths {
		list = append(list, strings.Join(p, "."))
	}
	return list
}

// read returns a task's saved result; nil if there is no saved success. An unreadable file counts as missing: running
// again is safe, guessing is not.
func (f *statusFolder) read(task string) *operators.Result {
	text, err := os.ReadFile(f.path(task))
	if errors.Is(err, os.ErrNotExist) || err != nil {
		return nil
	}
	v, err := dig.ParseYAML(f.path(task), text)
	state, ok := v.(*param.Map)
	if err != nil || !ok {
		return nil
	}
	if s, _ := state.Get("state"); s != "success" {
		return nil
	}
	if again, _ := state.Get(rerunKey); again == true {
		return nil
	}
	saved := state.Map("result")
	result := &operators.Result{Subtasks: filled(saved.Map("subtaskConfig")), Export: filled(saved.Map("exportParams")), Store: filled(saved.Map("storeParams"))}
	reset, _ := saved.Get("resetStoreParams")
	list, _ := reset.([]param.Value)
	for _, p := range list {
		if s, ok := p.(string); ok {
			result.ResetStore = append(result.ResetStore, strings.Split(s, "."))
		}
	}
	return result
}

func filled(m *param.Map) *param.Map {
	if m.Len() == 0 {
		return nil
	}
	return m
}
