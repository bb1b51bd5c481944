package files

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/internal/host"
	"zerodag/operators"
)

func exampleRun(task string) (operators.Identity, time.Time) {
	return operators.Identity{SiteID: 1, ProjectID: 23, ProjectName: "demo", Workflow: "sub/main", SessionTime: time.Date(2024, 2, 3, 4, 5, 6, 0, time.FixedZone("", -5*3600)),
		TaskName: task, TaskID: 7, SessionID: 8, AttemptID: 9}, time.Date(2024, 2, 4, 23, 0, 0, 0, time.FixedZone("", -5*3600))
}

// TestLogNames checks the names of folders and files (engine.md 2.13), including two runs at the same moment and task
// names that no file system would accept.
func TestLogNames(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	logs := NewLogs(LogOptions{Folder: folder, AgentID: "12@host", Now: func() time.Time { return time.Unix(0x57d1e2f3, 255) }})
	for _, task := range []string{"+a@b", "+a@b", "+" + strings.Repeat("long", 100)} {
		id, created := exampleRun(task)
		l := logs.Open(id, created)
		l.Echo("x")
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	id, created := exampleRun("+x")
	id.RetryAttemptName = "a/b"
	l := logs.Open(id, created)
	l.Echo("x")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var names []string
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if name, _ := filepath.Rel(folder, path); !d.IsDir() && len(filepath.Base(name)) < 100 {
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"2024-02-05/1.23sub%2Fmain@20240203T040506-0500/+a@b@57d1e2f3000000ff.12@host.log.gz",
		"2024-02-05/1.23sub%2Fmain@20240203T040506-0500/+a@b@57d1e2f300000100.12@host.log.gz",
		"2024-02-05/1.23sub%2Fmain@20240203T040506-0500_a%2Fb/+x@57d1e2f3000000ff.12@host.log.gz",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	list, err := logs.Files(t.Context(), exampleAttempt(created), "")
	if err != nil || len(list) != 3 {
		t.Fatalf("Files = %+v, %v", list, err)
	}
	if f := list[0]; f.TaskName != "+a@b" || f.AgentID != "12@host" || !f.Time.Equal(time.Unix(0x57d1e2f3, 255)) {
		t.Errorf("first file is %+v", f)
	}
	if n := len(list[2].Name); n > 255 || n < 200 {
		t.Errorf("a long name is %d bytes", n)
	}
}

func exampleAttempt(created time.Time) host.Attempt {
	return host.Attempt{ID: 9, Site: 1, Project: host.Ref{ID: 23}, Workflow: host.Ref{Name: "sub/main"}, SessionTime: time.Date(2024, 2, 3, 9, 5, 6, 0, time.UTC), Zone: "-05:00", CreatedAt: created}
}

// TestLogSplit proves that a run continues in another file when one is full, and that nothing is lost between them.
func TestLogSplit(t *testing.T) {
	t.Parallel()
	logs := NewLogs(LogOptions{Folder: t.TempDir(), Split: 1000})
	id, created := exampleRun("+a")
	l := logs.Open(id, created)
	want := ""
	for i := range 400 {
		text := fmt.Sprintf("line %d\n", i)
		l.Write([]byte(text))
		want += text
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	list, err := logs.Files(t.Context(), exampleAttempt(created), "+a")
	if err != nil || len(list) != 4 {
		t.Fatalf("%d files, want 4 (%v)", len(list), err)
	}
	text := ""
	for _, f := range list {
		r, _, err := logs.File(t.Context(), exampleAttempt(created), f.Name)
		if err != nil {
			t.Fatal(err)
		}
		text += unzip(t, r)
	}
	if text != want {
		t.Errorf("the files hold %d bytes of %d", len(text), len(want))
	}
}

func unzip(t *testing.T, r io.ReadCloser) string {
	t.Helper()
	defer r.Close()
	z, err := gzip.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// memory keeps short logs in memory; while it fails, it accepts none.
type memory struct {
	mu    sync.Mutex
	logs  map[string][]byte
	fails error

	unsettled []func()
}

func (m *memory) AddLog(_ context.Context, attempt int64, name string, content []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.logs == nil {
		m.logs = map[string][]byte{}
	}
	if m.fails == nil {
		m.logs[fmt.Sprint(attempt, name)] = bytes.Clone(content)
	}
	return m.fails
}

func (m *memory) RemoveLogs(_ context.Context, attempts []int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name := range m.logs {
		for _, id := range attempts {
			if strings.HasPrefix(name, fmt.Sprint(id)+"+") {
				delete(m.logs, name)
			}
		}
	}
	return m.fails
}

// AddLogSoon stores the log at once, and settles it when settle is called.
func (m *memory) AddLogSoon(attempt int64, name string, content []byte, settled func(error)) error {
	if errors.Is(m.fails, errEnds) {
		return m.fails
	}
	err := m.AddLog(context.Background(), attempt, name, content)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unsettled = append(m.unsettled, func() { settled(err) })
	return nil
}

// errEnds is the reason why no more logs are accepted.
var errEnds = errors.New("the store is closed")

func (m *memory) breaks(why error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fails = why
}

func (m *memory) settle() {
	m.mu.Lock()
	list := m.unsettled
	m.unsettled = nil
	m.mu.Unlock()
	for _, settled := range list {
		settled()
	}
}

func (m *memory) LogSizes(_ context.Context, attempt int64, prefix string, add func(name string, size int64)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, content := range m.logs {
		if own, found := strings.CutPrefix(name, fmt.Sprint(attempt)); found && strings.HasPrefix(own, prefix) {
			add(own, int64(len(content)))
		}
	}
	return nil
}

func (m *memory) LogContent(_ context.Context, attempt int64, name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if content, found := m.logs[fmt.Sprint(attempt, name)]; found {
		return content, nil
	}
	return nil, host.ErrNotFound
}

// TestShortLogs proves that logs of runs that print little are stored together and found by the names that separate
// files would have, along with longer logs and logs that had to be files.
func TestShortLogs(t *testing.T) {
	t.Parallel()
	folder, short := t.TempDir(), &memory{}
	logs := NewLogs(LogOptions{Folder: folder, AgentID: "a", Short: short, Now: func() time.Time { return time.Unix(0x57d1e2f3, 255) }})
	_, created := exampleRun("")
	for _, task := range []string{"+b", "+a", "+a", "+long", "+none"} {
		id, created := exampleRun(task)
		l := logs.Open(id, created)
		l.Echo(task)
		switch task {
		case "+long":
			l.Write(make([]byte, shortText))
		case "+none":
			short.fails = errEnds
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(short.logs) != 3 {
		t.Errorf("%d lie together, want 3", len(short.logs))
	}
	files, err := filepath.Glob(folder + "/*/*/*")
	if err != nil || len(files) != 2 {
		t.Error(files, err)
	}
	_, content, err := logs.File(t.Context(), exampleAttempt(created), filepath.Base(files[0]))
	if err != nil || content == 0 {
		t.Fatal(content, err)
	}
	list, err := logs.Files(t.Context(), exampleAttempt(created), "")
	if err != nil || len(list) != 5 {
		t.Fatalf("Files = %+v, %v", list, err)
	}
	for i, want := range []string{"+a", "+a", "+b", "+long", "+none"} {
		if list[i].TaskName != want || i > 0 && list[i].Name == list[i-1].Name {
			t.Errorf("file %d is %+v, want one of %s", i, list[i], want)
		}
		in, size, err := logs.File(t.Context(), exampleAttempt(created), list[i].Name)
		if err != nil || size != list[i].Size {
			t.Fatalf("File = %d, %v", size, err)
		}
		if text := unzip(t, in); !strings.HasPrefix(text, want) {
			t.Errorf("%s: %q", want, text)
		}
	}
	if list, _ := logs.Files(t.Context(), exampleAttempt(created), "+b"); len(list) != 1 {
		t.Errorf("of +b: %+v", list)
	}
	if _, _, err := logs.File(t.Context(), exampleAttempt(created), "+no@57d1e2f3000000ff.a.log.gz"); !errors.Is(err, host.ErrNotFound) {
		t.Errorf("a log that is not there: %v", err)
	}
}

// TestShortLogThatWasNotStored proves that a short log that no caller waited for and that could not be stored is kept
// in memory and stored once as soon as possible, and that a stored log is not stored again.
func TestShortLogThatWasNotStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		short := &memory{}
		logs := NewLogs(LogOptions{Folder: t.TempDir(), AgentID: "a", Short: short})
		run := func(task string) {
			id, created := exampleRun(task)
			l := logs.Open(id, created)
			l.Echo(task + "\n")
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
		run("+good")
		short.breaks(syscall.ENOSPC)
		run("+full")
		short.settle()
		if logs.Trouble() == nil || len(short.logs) != 1 {
			t.Errorf("trouble is %v, %d are stored", logs.Trouble(), len(short.logs))
		}
		short.breaks(nil)
		time.Sleep(2 * lateAgain)
		synctest.Wait()
		if got := kept(t, logs); logs.Trouble() != nil || len(short.logs) != 2 || got != "+full\n+good\n" {
			t.Errorf("trouble is %v, %d are stored: %q", logs.Trouble(), len(short.logs), got)
		}
		short.breaks(host.ErrUnavailable)
		run("+end")
		short.settle()
		if err := logs.Close(); err != nil {
			t.Error(err)
		}
		if got := kept(t, logs); got != "+end\n+full\n+good\n" {
			t.Errorf("after the end: %q", got)
		}
	})
}

// TestLogTrouble proves that a log that cannot be stored does not make a task fail, and that closing it returns the
// reason.
func TestLogTrouble(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	id, created := exampleRun("+a")
	l := NewLogs(LogOptions{Folder: file}).Open(id, created)
	if n, err := l.Write([]byte("text")); n != 4 || err != nil {
		t.Errorf("Write = %d, %v", n, err)
	}
	if err := l.Close(); err == nil || !strings.Contains(err.Error(), "keep log of task +a") {
		t.Errorf("Close = %v", err)
	}
}

// TestBlobCrash proves that the leftovers of an interrupted Put do not count as a blob.
func TestBlobCrash(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	blobs, err := NewBlobs(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, ".new-123"), []byte("part"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, _, err := blobs.Open(t.Context(), ".new-123"); err == nil {
		r.Close()
		t.Error("a part of a blob can be opened")
	}
	if err := blobs.Put(t.Context(), "k", bytes.NewReader([]byte("x")), 1); err != nil {
		t.Error(err)
	}
}

func BenchmarkTaskLog(b *testing.B) {
	for name, lines := range map[string]int{"short": 2, "long": 1000} {
		b.Run(name, func(b *testing.B) {
			logs := NewLogs(LogOptions{Folder: b.TempDir()})
			id, created := exampleRun("+a")
			for b.Loop() {
				l := logs.Open(id, created)
				for range lines {
					l.Line(operators.Info, "OperatorManager", "echo>: hello")
				}
				if err := l.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestRemoveLogs proves that the logs of an attempt are removed with their folder, that the logs of another attempt on
// the same day stay, and that removing them twice is not an error.
func TestRemoveLogs(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	short := &memory{logs: map[string][]byte{"9+a": []byte("x"), "19+a": []byte("of another attempt")}}
	logs, all := NewLogs(LogOptions{Folder: folder}), NewLogs(LogOptions{Folder: folder, Short: short})
	attempt := func(name string) host.Attempt {
		id, created := exampleRun("+sub/main+a")
		id.RetryAttemptName = name
		l := logs.Open(id, created)
		l.Echo("x")
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		return host.Attempt{ID: 9, Site: id.SiteID, Project: host.Ref{ID: id.ProjectID}, Workflow: host.Ref{Name: id.Workflow}, SessionTime: id.SessionTime, RetryName: name, Zone: "America/Bogota", CreatedAt: created}
	}
	first, second := attempt(""), attempt("again")
	count := func(a host.Attempt) int {
		list, err := logs.Files(t.Context(), a, "")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	for range 2 {
		if err := all.Remove(t.Context(), []host.Attempt{first}); err != nil {
			t.Fatal(err)
		}
		if a, b := count(first), count(second); a != 0 || b != 1 {
			t.Errorf("%d logs of the attempt that went, %d of the other one", a, b)
		}
	}
	if err := all.Remove(t.Context(), []host.Attempt{second}); err != nil {
		t.Fatal(err)
	}
	if days, err := os.ReadDir(folder); err != nil || len(days) != 0 {
		t.Errorf("left are %v, %v", days, err)
	}
	if len(short.logs) != 1 || short.logs["19+a"] == nil {
		t.Errorf("short logs left are %v", short.logs)
	}
}

// TestRemoveSharedLogs proves that logs of another project's workflow in the same folder stay, and that logs with
// shortened names are removed.
func TestRemoveSharedLogs(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	logs := NewLogs(LogOptions{Folder: folder})
	attempt := func(project int64, workflow string, tasks ...string) host.Attempt {
		id, created := exampleRun("")
		id.ProjectID, id.Workflow = project, workflow
		for _, task := range tasks {
			id.TaskName = "+" + workflow + task
			l := logs.Open(id, created)
			l.Echo("x")
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
		return host.Attempt{ID: 9, Site: id.SiteID, Project: host.Ref{ID: project}, Workflow: host.Ref{Name: workflow}, SessionTime: id.SessionTime, Zone: "America/Bogota", CreatedAt: created}
	}
	left := func(a host.Attempt) int {
		list, err := logs.Files(t.Context(), a, "")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	first, second := attempt(1, "2a", "+x", "^failure-alert", ""), attempt(12, "a", "+x", "+2a+x")
	long := attempt(3, strings.Repeat("w", 400), "+x", "+y")
	deep := attempt(4, "w", "+"+strings.Repeat("x", 400))
	if n := left(first); n != 5 {
		t.Fatalf("they share no folder: it has %d files", n)
	}
	if err := logs.Remove(t.Context(), []host.Attempt{first, long, deep}); err != nil {
		t.Fatal(err)
	}
	if n := left(second); n != 2 {
		t.Errorf("the other project has %d files left, want 2", n)
	}
	if left(long)+left(deep) != 0 {
		t.Errorf("of names that were cut %d and %d are left", left(long), left(deep))
	}
	if err := logs.Remove(t.Context(), []host.Attempt{second}); err != nil {
		t.Fatal(err)
	}
	if days, err := os.ReadDir(folder); err != nil || len(days) != 0 {
		t.Errorf("left are %v, %v", days, err)
	}
}
