package files

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"zerodag/internal/host"
)

// disk is a file system that can be full, or fail once.
type disk struct {
	wrong atomic.Pointer[error] // the error that writes return; nil: writes succeed
	once  atomic.Bool           // only the next write fails
	cut   atomic.Bool           // a failing write still writes part of its data
}

func (d *disk) fails(err error) { d.wrong.Store(&err) }
func (d *disk) works()          { d.wrong.Store(nil) }

func (d *disk) ask() error {
	wrong := d.wrong.Load()
	if wrong == nil {
		return nil
	}
	if d.once.Load() {
		d.works()
	}
	return *wrong
}

func (d *disk) open(name string, flag int) (logFile, error) {
	if flag&os.O_CREATE != 0 {
		if err := d.ask(); err != nil {
			return nil, &os.PathError{Op: "open", Path: name, Err: err}
		}
	}
	f, err := openFile(name, flag)
	return diskFile{f, d}, err
}

type diskFile struct {
	logFile
	disk *disk
}

func (f diskFile) WriteAt(p []byte, at int64) (int, error) {
	err := f.disk.ask()
	if err == nil {
		return f.logFile.WriteAt(p, at)
	}
	n := 0
	if f.disk.cut.Load() {
		n, _ = f.logFile.WriteAt(p[:len(p)/2], at)
	}
	return n, err
}

// onDisk returns logs on a disk that can be full; said collects the messages that the logs report.
func onDisk(t *testing.T) (logs *Logs, d *disk, said *bytes.Buffer) {
	said = &bytes.Buffer{}
	logs = NewLogs(LogOptions{Folder: t.TempDir(), AgentID: "a", Logger: slog.New(slog.NewTextHandler(said, nil))})
	d = &disk{}
	logs.open = d.open
	return logs, d, said
}

// kept returns the text of all the example attempt's logs, which must be complete gzip files.
func kept(t *testing.T, logs *Logs) string {
	t.Helper()
	_, created := exampleRun("")
	list, err := logs.Files(t.Context(), exampleAttempt(created), "")
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, f := range list {
		in, size, err := logs.File(t.Context(), exampleAttempt(created), f.Name)
		if err != nil || size != f.Size {
			t.Fatalf("%s: %d of %d bytes are whole, %v", f.Name, size, f.Size, err)
		}
		text += unzip(t, in)
	}
	return text
}

// TestLogOfAFullDisk proves that a log that could not be written because the disk was full, had no inodes or failed
// once is continued as soon as possible, whether or not its run has ended by then. No text is missing or duplicated,
// and the file is complete at all times.
func TestLogOfAFullDisk(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*disk){
		"full":        func(d *disk) { d.fails(syscall.ENOSPC) },
		"quota":       func(d *disk) { d.fails(syscall.EDQUOT) },
		"cut":         func(d *disk) { d.cut.Store(true); d.fails(syscall.ENOSPC) },
		"failed once": func(d *disk) { d.once.Store(true); d.fails(syscall.EIO) },
		"read-only":   func(d *disk) { d.fails(syscall.EROFS) },
	} {
		for _, first := range []bool{true, false} {
			for _, over := range []bool{true, false} {
				t.Run(fmt.Sprint(name, " first ", first, " over ", over), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						logs, d, said := onDisk(t)
						id, created := exampleRun("+a")
						l, want := logs.Open(id, created), ""
						write := func(n int) {
							for range n {
								want += fmt.Sprintf("line %d\n", len(want))
								l.Write([]byte(want[strings.LastIndex(want[:len(want)-1], "\n")+1:]))
								time.Sleep(30 * time.Millisecond)
							}
						}
						if !first {
							write(100)
						}
						set(d)
						write(100)
						if got := kept(t, logs); !strings.HasPrefix(want, got) {
							t.Errorf("while it is full the log is %q", got)
						}
						synctest.Wait() // a retry may still log that
						if once := d.once.Load(); !once && (logs.Trouble() == nil || !strings.Contains(said.String(), "cannot be stored")) {
							t.Errorf("trouble is %v, told: %s", logs.Trouble(), said)
						}
						if over {
							if err := l.Close(); err != nil {
								t.Error(err)
							}
							d.works()
						} else {
							d.works()
							write(100)
							if err := l.Close(); err != nil {
								t.Error(err)
							}
						}
						time.Sleep(2 * lateAgain)
						if got := kept(t, logs); got != want {
							t.Errorf("the log is %d bytes of %d\n%s", len(got), len(want), got)
						}
						synctest.Wait() // a retry may still log that
						if logs.Trouble() != nil || strings.Count(said.String(), "\n") != 2 || !strings.Contains(said.String(), "stored again") {
							t.Errorf("trouble is %v, told: %s", logs.Trouble(), said)
						}
					})
				})
			}
		}
	}
}

// TestLogSaysWhatIsMissing proves that the log states how much text was dropped for lack of memory, where the text is
// missing, and continues after that, and that the server's log reports the loss.
func TestLogSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		logs, d, said := onDisk(t)
		id, created := exampleRun("+a")
		l := logs.Open(id, created)
		l.Write([]byte("before\n"))
		time.Sleep(time.Second)
		d.fails(syscall.ENOSPC)
		line := strings.Repeat("x", 1023) + "\n"
		const lines = 10_000
		for range lines {
			l.Write([]byte(line))
		}
		time.Sleep(10 * time.Second)
		d.works()
		time.Sleep(2 * lateAgain)
		l.Write([]byte("after\n"))
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		got := kept(t, logs)
		there := strings.Count(got, line)
		want := fmt.Sprintf("%d lines (%d bytes) are missing here: the disk was full\n", lines-there, (lines-there)*1024)
		if there < 4000 || there > 4200 || !strings.HasPrefix(got, "before\n"+line) || !strings.HasSuffix(got, want+"after\n") || strings.Count(got, "missing") != 1 {
			t.Errorf("%d lines are there; the end is %q, want %q", there, got[max(0, len(got)-400):], want)
		}
		synctest.Wait() // a retry may still log that
		if !strings.Contains(said.String(), fmt.Sprintf("missing=\"%d lines", lines-there)) {
			t.Errorf("told: %s", said)
		}
	})
}

// TestLateLogsAreBounded proves that logs that cannot be stored stay within their memory limit, and that each of them,
// short or long, states how much text it lacks.
func TestLateLogsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		logs, d, _ := onDisk(t)
		d.fails(syscall.ENOSPC)
		text := bytes.Repeat([]byte("0123456789abcde\n"), 4096)
		var open []io.Closer
		for i := range 40 {
			id, created := exampleRun(fmt.Sprint("+long", i))
			l := logs.Open(id, created)
			for range 64 {
				l.Write(text)
			}
			open = append(open, l)
		}
		if logs.late.bytes > mostLate {
			t.Errorf("%d bytes are kept", logs.late.bytes)
		}
		for range 10 {
			id, created := exampleRun("+short")
			l := logs.Open(id, created)
			l.Echo("short")
			open = append(open, l)
		}
		for _, l := range open {
			l.Close()
		}
		d.works()
		time.Sleep(2 * lateAgain)
		got := kept(t, logs)
		if n := strings.Count(got, "missing here"); n != 24+10 { // there is memory for 16 long logs
			t.Errorf("%d logs say that something is missing, want 34", n)
		}
		if logs.late.bytes != 0 || logs.Trouble() != nil {
			t.Errorf("%d bytes are kept, trouble is %v", logs.late.bytes, logs.Trouble())
		}
	})
}

// TestLogsThatStayAreTold proves that the program reports at exit which text it could not store.
func TestLogsThatStayAreTold(t *testing.T) {
	t.Parallel()
	logs, d, _ := onDisk(t)
	d.fails(syscall.ENOSPC)
	id, created := exampleRun("+a")
	l := logs.Open(id, created)
	l.Echo("x")
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := logs.Close(); err == nil || !strings.Contains(err.Error(), "logs of 1 task runs") {
		t.Errorf("Close = %v", err)
	}
}

// TestTornLog proves that a gzip member that a killed process left incomplete is not shown, wherever it was cut, and
// that bytes in a log that look like the beginning of a member do not cut anything off.
func TestTornLog(t *testing.T) {
	t.Parallel()
	var random bytes.Buffer
	zip := gzip.NewWriter(&random)
	for i := range 30_000 {
		fmt.Fprintf(zip, "%x", i*i*7919)
	}
	zip.Close()
	logs := NewLogs(LogOptions{Folder: t.TempDir(), AgentID: "a"})
	id, created := exampleRun("+a")
	l := logs.Open(id, created)
	want := ""
	for range 3 {
		part := strings.Repeat("0123456789", 100) + random.String() + strings.Repeat(random.String()[:500], 3)
		want += part
		l.Write([]byte(part))
		l.(*taskLog).tick()
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := kept(t, logs); got != want {
		t.Fatalf("%d bytes of %d", len(got), len(want))
	}
	names, err := filepath.Glob(logs.folder + "/*/*/*.gz")
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	whole, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	one := wholeSize(bytes.NewReader(whole[:len(whole)-1]), int64(len(whole)-1)) // the end of the first two members
	for _, cut := range []int64{1, 5, 9, 10, 11, 300, 5000, (int64(len(whole)) - one) / 2, int64(len(whole)) - one - 1} {
		size := int64(len(whole)) - cut
		if got := wholeSize(bytes.NewReader(whole[:size]), size); got != one {
			t.Errorf("without its last %d bytes %d are whole, want %d", cut, got, one)
		}
	}
	if got := wholeSize(bytes.NewReader(whole[:one]), one); got != one {
		t.Errorf("of two whole members %d bytes are whole, want %d", got, one)
	}
	if got := wholeSize(bytes.NewReader(whole[:20]), 20); got != 0 {
		t.Errorf("of no member %d bytes are whole", got)
	}
}

// FuzzWholeSize searches for files that are not valid up to the size that wholeSize returns.
func FuzzWholeSize(f *testing.F) {
	var one bytes.Buffer
	zip := gzip.NewWriter(&one)
	zip.Write([]byte("text\n"))
	zip.Close()
	f.Add(append(one.Bytes(), one.Bytes()[:12]...))
	f.Add(one.Bytes())
	f.Fuzz(func(t *testing.T, content []byte) {
		whole := append(one.Bytes()[:one.Len():one.Len()], content...)
		n := wholeSize(bytes.NewReader(whole), int64(len(whole)))
		if n < int64(one.Len()) || n > int64(len(whole)) {
			t.Errorf("%d of %d bytes are whole", n, len(whole))
		}
	})
}

// smallDisk mounts a disk of 1 MB with few inodes.
func smallDisk(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1m,nr_inodes=40", "tmpfs", folder).CombinedOutput(); err != nil {
		t.Skipf("NOT RUN: a disk cannot be made: %v %s", err, out)
	}
	t.Cleanup(func() { exec.Command("umount", "-l", folder).Run() })
	return folder
}

// TestLogsOnASmallDisk proves on a real disk that runs that print little and end while the disk is full or has no
// inodes keep their logs, alongside a run that prints a lot.
func TestLogsOnASmallDisk(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"full", "no inodes"} {
		for _, apart := range []bool{false, true} {
			folder := smallDisk(t)
			options, short := LogOptions{Folder: filepath.Join(folder, "logs"), AgentID: "a"}, &memory{fails: host.ErrUnavailable}
			if !apart { // the short logs are on the same disk
				options.Short = short
			}
			logs := NewLogs(options)
			run := func(task, text string) {
				id, created := exampleRun(task)
				l := logs.Open(id, created)
				l.Write([]byte(text))
				if err := l.Close(); err != nil {
					t.Errorf("%s: %v", task, err)
				}
			}
			run("+first", "first\n")
			var fill []string
			for i := 0; ; i++ {
				name, size := filepath.Join(folder, fmt.Sprint("fill", i)), 1<<20
				if how == "no inodes" {
					size = 0
				}
				fill = append(fill, name)
				if os.WriteFile(name, make([]byte, size), 0o600) != nil {
					break
				}
			}
			long := strings.Repeat("a line\n", 20_000)
			var all sync.WaitGroup
			for i := range 5 {
				all.Go(func() { run(fmt.Sprint("+short", i), "short\n") })
			}
			all.Wait()
			run("+long", long)
			short.settle()
			if logs.Trouble() == nil {
				t.Errorf("%s: it is not full, this shows nothing", how)
			}
			for _, name := range fill {
				os.Remove(name)
			}
			for deadline := time.Now().Add(10 * time.Second); logs.Trouble() != nil && time.Now().Before(deadline); {
				time.Sleep(10 * time.Millisecond)
			}
			got := kept(t, logs)
			if strings.Count(got, "short\n") != 5 || strings.Count(got, "first\n") != 1 || !strings.Contains(got, long) || regexp.MustCompile("missing").MatchString(got) {
				t.Errorf("%s, apart %v: %d bytes\n%s", how, apart, len(got), got[:min(len(got), 1000)])
			}
		}
	}
}
