package security

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// machineZeros is a reader that repeats the same text.
type machineZeros struct {
	text string
	at   int
}

func (z *machineZeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = z.text[z.at%len(z.text)]
		z.at++
	}
	return len(p), nil
}

// machineLarge returns an archive of one large file, which is small when compressed.
func machineLarge(t *testing.T, name, begin, text string, size int64) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: size, Typeflag: tar.TypeReg})
	io.WriteString(w, begin)
	if _, err := io.CopyN(w, &machineZeros{text: text}, size-int64(len(begin))); err != nil {
		t.Fatal(err)
	}
	w.Close()
	z.Close()
	return b.Bytes()
}

// TestM1_LargeProjectsAreRefusedBeforeTheyAreParsed checks that a project with millions of list
// items, tasks, keys or files soon ends with one error that names the file and the limit, without using much memory;
// and that ten thousand tasks are accepted.
func TestM1_LargeProjectsAreRefusedBeforeTheyAreParsed(t *testing.T) {
	t.Parallel()
	s := prepare(t)
	s.boot()
	numbered := func(n int, form string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, form, i)
		}
		return b.String()
	}
	many := map[string]string{}
	for i := range 400 {
		many[fmt.Sprintf("w%d.dig", i)] = "_export: {a: [" + strings.Repeat("1,", 100_000) + "]}\n"
	}
	before := s.memory("VmHWM") >> 10
	for name, archive := range map[string][]byte{
		"30 million items":      machineLarge(t, "main.dig", "_export: {a: [1", ",1", 60<<20),
		"items in 2 MiB":        archive(map[string]string{"main.dig": "_export: {a: [" + strings.Repeat("1,", 1<<19) + "1]}\n"}),
		"included items":        archive(map[string]string{"main.dig": "!include : big.yml\n", "big.yml": "_export: {a: [" + strings.Repeat("1,", 1<<19) + "1]}\n"}),
		"included bytes":        archive(map[string]string{"main.dig": "!include : big.yml\n", "big.yml": "_export: {a: '" + strings.Repeat("1", 30<<20) + "'}\n"}),
		"a million tasks":       archive(map[string]string{"main.dig": numbered(1_000_000, "+t%d: {}\n")}),
		"a hundred thousand":    archive(map[string]string{"main.dig": numbered(100_000, "+t%d: {a: 1}\n")}),
		"2 million keys":        archive(map[string]string{"main.dig": "_export: {a: 1" + numbered(2_000_000, ",k%d: 1") + "}\n"}),
		"empty lines":           archive(map[string]string{"main.dig": strings.Repeat("\n", 2<<20)}),
		"dashes":                archive(map[string]string{"main.dig": strings.Repeat("- ", 1<<20)}),
		"brackets":              archive(map[string]string{"main.dig": strings.Repeat("[", 2<<20)}),
		"four hundred files":    archive(many),
		"lines of Unicode":      archive(map[string]string{"main.dig": "a:\n" + strings.Repeat("-\u2028", 500_000)}),
		"many small of a great": archive(map[string]string{"main.dig": "+a: {b: [" + strings.Repeat("[],", 600_000) + "]}\n"}),
	} {
		began := time.Now()
		status, answer := s.pushArchive("p", archive)
		if took := time.Since(began); status != http.StatusBadRequest || !strings.Contains(answer, "more than the") && !strings.Contains(answer, "may have at most") && !strings.Contains(answer, " exceed") && !strings.Contains(answer, "larger than the limit") || len(answer) > 2000 || took > time.Minute { // parsing would take minutes, even on an idle machine
			t.Errorf("%s: %d after %v: %.300s", name, status, took, answer)
		} else {
			t.Logf("%s: refused after %v, %d MiB: %.150s", name, took, s.memory("VmHWM")>>10, answer)
		}
	}
	if grown := s.memory("VmHWM")>>10 - before; grown > 100 {
		t.Errorf("it took %d MiB", grown)
	}
	if status, answer := s.pushMain("good", numbered(10_000, "+task_number_%d:\n  _export: {a: 1, b: [1, 2]}\n  _retry: 3\n  sh>: echo $a\n")); status != http.StatusOK {
		t.Errorf("ten thousand tasks: %d %.300s", status, answer)
	}
}

// TestL10_ManyFoldersAreRefusedAtOnce checks that an archive with too many folders is refused before any of them is
// created.
func TestL10_ManyFoldersAreRefusedAtOnce(t *testing.T) {
	t.Parallel()
	s := prepare(t)
	s.boot()
	files := map[string]string{"main.dig": "+a: {}\n"}
	for i := range 900 {
		name := strconv.Itoa(i)
		files[name+strings.Repeat("/"+name, 60)] = ""
	}
	began := time.Now()
	status, answer := s.pushArchive("p", archive(files))
	if took := time.Since(began); status != http.StatusBadRequest || !strings.Contains(answer, "exceeds limit") || took > 30*time.Second {
		t.Errorf("%d after %v: %s", status, took, answer)
	}
}

// TestL8_HostileCheckouts checks that no pipe, device or link out of a project is read, that
// nothing is written through a link, and that the program ends when asked to.
func TestL8_HostileCheckouts(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "shadow")
	os.WriteFile(secret, []byte("root:$6$secret-hash:19000\n"), 0o600)
	elsewhere := t.TempDir()
	program := programPath(t)
	for name, prepare := range map[string]string{
		"fifo":            "mkfifo x.dig",
		"device":          "ln -s /dev/zero x.dig",
		"link out":        "ln -s " + secret + " x.dig",
		"include a link":  "ln -s " + secret + " y; echo '!include : y' >x.dig",
		"include a fifo":  "mkfifo y; echo '!include : y' >x.dig",
		"include zeros":   "ln -s /dev/zero y; echo '!include : y' >x.dig",
		"a folder":        "mkdir x.dig",
		"ignored zeros":   "ln -s /dev/zero .digdagignore; echo '+a: {}' >x.dig",
		"our zeros":       "ln -s /dev/zero .zerodagignore; echo '+a: {}' >x.dig",
		"ignored fifo":    "mkfifo .digdagignore; echo '+a: {}' >x.dig",
		"sparse terabyte": "truncate -s 1T x.dig",
	} {
		folder := t.TempDir()
		if out, err := exec.Command("/bin/sh", "-c", "cd "+folder+"; "+prepare).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		for _, args := range [][]string{{"check"}, {"run", "x.dig"}, {"archive", "--output", filepath.Join(elsewhere, name+".tar.gz")}} {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			c := exec.CommandContext(ctx, "prlimit", append([]string{"--as=4000000000", program}, args...)...)
			c.Dir, c.Env = folder, append(os.Environ(), "ZERODAG_CONFIG_HOME="+folder)
			out, err := c.CombinedOutput()
			cancel()
			if ctx.Err() != nil && ctx.Err() != context.Canceled || strings.Contains(string(out), "secret-hash") || strings.Contains(string(out), "out of memory") || err == nil && name != "a folder" {
				t.Errorf("%s, %v: %v\n%.500s", name, args, err, out)
			}
		}
	}
	for name, prepare := range map[string]string{
		"state":  "ln -s " + elsewhere + " .digdag",
		"status": "mkdir .digdag; ln -s " + elsewhere + " .digdag/status",
		"tmp":    "mkdir .digdag; ln -s " + elsewhere + " .digdag/tmp",
		"ours":   "ln -s " + elsewhere + " .zerodag",
		"within": "mkdir .zerodag; ln -s " + elsewhere + " .zerodag/tmp",
	} {
		folder := t.TempDir()
		script := "cd " + folder + "; echo '+a: {sh>: \"true\"}' >x.dig; " + prepare + "; " + program + " run x.dig"
		out, err := exec.Command("/bin/sh", "-c", script).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "is a link") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	if list, _ := os.ReadDir(elsewhere); len(list) > 1 { // from the folder that is packed without files
		t.Errorf("it was written to: %v", list)
	}
}

// TestL8_AKeyThatIsNoPlainFile checks that a server does not wait for a pipe in place of its key and ends when asked
// to; L9: it warns about a key that others can read.
func TestL8_AKeyThatIsNoPlainFile(t *testing.T) {
	t.Parallel()
	s := prepare(t)
	os.Mkdir(s.data(), 0o700)
	if err := syscall.Mkfifo(filepath.Join(s.data(), "secret.key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.tryBoot(); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("got %v", err)
	}
}

// TestL9_KeysThatOthersRead checks that a key that others can read is made private, with a warning.
func TestL9_KeysThatOthersRead(t *testing.T) {
	t.Parallel()
	key := filepath.Join(t.TempDir(), "key")
	os.WriteFile(key, []byte("aHVudGVyMmh1bnRlcjJodQ==\n"), 0o644)
	s := prepare(t, "-X", "server.secret-key-file="+key)
	s.boot()
	info, err := os.Stat(key)
	if err != nil || info.Mode().Perm() != 0o600 || !strings.Contains(s.log(), "was readable by other users") {
		t.Errorf("%v, %v\n%s", info.Mode(), err, s.log())
	}
}

// TestL11_CeilingsOfWhatATaskMayAskFor checks that a task cannot request more than the machine has, nor more than the
// server allows.
func TestL11_CeilingsOfWhatATaskMayAskFor(t *testing.T) {
	t.Parallel()
	s := prepare(t, "-X", "agent.command_executor.ceilings.timeout=1h", "-X", "agent.command_executor.ceilings.processes=5000", "-X", "agent.command_executor.ceilings.disk=1g")
	s.boot()
	for asked, want := range map[string]bool{"memory: 100t": false, "processes: 1000000": false, "timeout: 2h": false, "disk: 2g": false, "memory: 64m, timeout: 30m, disk: 1g, processes: 100": true} {
		ok, log := s.run("p", "+a:\n  sh>: 'true'\n  sandbox: {"+asked+"}\n")
		if ok != want || !ok && !strings.Contains(log, "agent.command_executor.ceilings") {
			t.Errorf("%s: %v\n%s", asked, ok, log)
		}
	}
}
