package tour

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"zerodag/integration/server"
)

// program is the program whose commands the pages show.
var program string

func TestMain(m *testing.M) {
	os.Exit(server.Main(m, &program))
}

// differs returns the first shown line that the output lacks, or "" if it lacks none.
func differs(want []string, output string) string {
	got, anywhere := strings.Split(strings.TrimRight(output, "\n"), "\n"), false
	for _, w := range want {
		if w == "..." {
			anywhere = true
			continue
		}
		start, open := strings.CutSuffix(w, "...")
		found := -1
		for i, g := range got {
			if g == w || open && strings.HasPrefix(g, start) {
				found = i
				break
			}
			if !anywhere {
				break
			}
		}
		if found < 0 {
			return w
		}
		got, anywhere = got[found+1:], false
	}
	if !anywhere && len(want) > 0 && len(got) > 0 {
		return "the end of the output"
	}
	return ""
}

// shell is a bash into which a page is typed.
type shell struct {
	cmd  *exec.Cmd
	in   *os.File
	out  string // name of the file that output goes to
	home string
	seen int
}

// open starts a shell whose user has only a configuration with a free port.
func open(t *testing.T) *shell {
	t.Helper()
	home := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	config := filepath.Join(home, ".config", "zerodag", "config")
	if err := os.MkdirAll(filepath.Dir(config), 0o755); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("server.port = %s\nclient.http.endpoint = http://127.0.0.1:%s\n", port, port)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(home, "output"))
	if err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s := &shell{cmd: exec.Command("bash", "--norc"), in: write, out: out.Name(), home: home}
	s.cmd.Dir, s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = t.TempDir(), read, out, out
	s.cmd.Env = []string{"HOME=" + home, "PATH=" + filepath.Dir(program) + ":" + os.Getenv("PATH"), "TZ=UTC", "LANG=C.UTF-8", "TMPDIR=" + home}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read.Close()
	out.Close()
	t.Cleanup(func() {
		syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) // also the server of a page that failed
		write.Close()
		s.cmd.Wait()
	})
	return s
}

// inBackground matches a command that the shell does not wait for.
var inBackground = regexp.MustCompile(`[^&]&( |$)`)

var ended = regexp.MustCompile(`(?s)\n?@ended (\d+)@\n`)

// enter types a command and waits for its end; the commands read nothing from the shell's input.
func (s *shell) enter(ctx context.Context, command string) (output, code string, err error) {
	if _, err := fmt.Fprintf(s.in, "%s\nprintf '\\n@ended %%s@\\n' $? </dev/null\n", command); err != nil {
		return "", "", err
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		all, err := os.ReadFile(s.out)
		if err != nil {
			return "", "", err
		}
		if m := ended.FindSubmatchIndex(all[s.seen:]); m != nil {
			output = string(all[s.seen : s.seen+m[0]])
			code = string(all[s.seen+m[2] : s.seen+m[3]])
			s.seen += m[1] // the rest is the output of a command in the background
			return output, code, nil
		}
		select {
		case <-ctx.Done():
			return string(all[s.seen:]), "", ctx.Err()
		case <-tick.C:
		}
	}
}

// patience is how long a command of a page may take, even with a wait in it on a busy machine.
const patience = 2 * time.Minute

// follow types the steps of a page one after the other.
func (s *shell) follow(t *testing.T, page string, list []step) {
	t.Helper()
	for _, one := range list {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		output, code, err := s.enter(ctx, one.typed())
		if one.file == "" && inBackground.MatchString(one.command) && strings.Contains(one.command, "zerodag") && err == nil { // a person types more slowly than a server starts
			_, code, err = s.enter(ctx, "until zerodag projects >/dev/null 2>&1; do :; done")
		}
		cancel()
		if err != nil || code != "0" {
			t.Fatalf("%s:%d: %s\nexit code %s, %v\n%s", page, one.line, one.command, code, err, output)
		}
		if !strings.Contains(strings.Join(one.want, "\n"), "zerodag.server:") {
			output = serversLog.ReplaceAllString(output, "")
		}
		if wrong := differs(one.want, output); wrong != "" {
			t.Errorf("%s:%d: %s\nnot shown: %s\n%s", page, one.line, one.command, wrong, output)
		}
	}
}

// serversLog matches lines of a server in the background, which may appear at any time.
var serversLog = regexp.MustCompile(`(?m)^\d{4}-.* zerodag\.server: .*\n`)

// TestTour checks that the commands of the tour work as written and print what the page shows. The first one builds the
// program, which the test has already done.
func TestTour(t *testing.T) {
	t.Parallel()
	list := read(section(t, "docs/tour.md", "Tour")).steps
	if len(list) < 15 {
		t.Fatalf("the tour has %d commands", len(list))
	}
	if first := list[0].command; first != "make build && export PATH=$PWD/bin:$PATH" {
		t.Fatalf("the tour begins with %q", first)
	}
	s := open(t)
	s.follow(t, "docs/tour.md", list[1:])
	if entries, err := os.ReadDir(filepath.Join(s.home, "zerodag-data")); err != nil || len(entries) == 0 {
		t.Errorf("the server of the tour kept nothing in ~/zerodag-data: %v", err)
	}
}

// TestREADME checks that the first workflow of the README runs, locally and on a server, with the commands next to it.
func TestREADME(t *testing.T) {
	t.Parallel()
	list := read(section(t, "README.md", "A first workflow")).steps
	if len(list) < 6 || list[0].file != "nightly.dig" {
		t.Fatalf("the section has %d steps and begins with the file %q", len(list), list[0].file)
	}
	open(t).follow(t, "README.md", list)
}

// TestDiffers checks that the comparison finds differences.
func TestDiffers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		want   []string
		output string
		ok     bool
	}{
		{nil, "anything", true},
		{[]string{"a", "b"}, "a\nb\n", true},
		{[]string{"a"}, "a\nb\n", false},
		{[]string{"b"}, "a\nb\n", false},
		{[]string{"...", "b", "..."}, "a\nb\nc\n", true},
		{[]string{"...", "x", "..."}, "a\nb\nc\n", false},
		{[]string{"a b..."}, "a b c\n", true},
		{[]string{"a b..."}, "a c\n", false},
	} {
		if got := differs(c.want, c.output); (got == "") != c.ok {
			t.Errorf("%q in %q: %q", c.want, c.output, got)
		}
	}
}
