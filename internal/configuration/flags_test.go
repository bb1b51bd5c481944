package configuration

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"zerodag/engine/param"
	"zerodag/internal/program"
)

// write creates a file in a folder of the test.
func write(t *testing.T, folder, name, text string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestSourcesInTheirOrder checks which source of a key wins (the default file is the weakest, followed by the
// environment, -X, the file of -c, and the command's own options), and that -c replaces the default file.
func TestSourcesInTheirOrder(t *testing.T) {
	home := t.TempDir()
	t.Setenv("DIGDAG_CONFIG_HOME", home)
	t.Setenv("DIGDAG_CONFIG", "server.bind = of the environment\nserver.port = 2")
	write(t, home, "config", "server.bind: of the default file\nagent.id = of the default file\ntmpdir=of the default file")
	given := write(t, home, "given", "agent.id of the file\\\n  of -c\n# a comment\nserver.folder=äö\\u00e4 ${server.port} \\\\")
	for _, c := range []struct {
		name string
		args []string
		want Settings
	}{
		{"nothing", nil, Settings{"server.bind": "of the environment", "server.port": "2", "agent.id": "of the default file", "tmpdir": "of the default file"}},
		{"-X", []string{"-X", "server.port=3", "--property", "agent.id=", "-X", "schedule.enabled"},
			Settings{"server.bind": "of the environment", "server.port": "3", "agent.id": "", "tmpdir": "of the default file", "schedule.enabled": "true"}},
		{"-c", []string{"-c", given, "-X", "agent.id=of -X"}, Settings{"server.bind": "of the environment", "server.port": "2", "agent.id": "of the fileof -c", "server.folder": `äöä ${server.port} \`}},
	} {
		flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
		var f Flags
		f.Register(flags)
		if err := flags.Parse(c.args); err != nil {
			t.Fatal(err)
		}
		got, err := f.Load()
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", c.name, err, diff)
		}
		f.Override = []Pair{{Key: "server.port", Value: "9"}}
		if got, err := f.Load(); err != nil || got["server.port"] != "9" {
			t.Errorf("%s and an option: %s, %v", c.name, got["server.port"], err)
		}
	}
	f := Flags{Config: given, System: []string{"agent.id=x", "tmpdir=/y"}}
	s, err := f.Load()
	if notes := f.Beaten(s); err != nil || len(notes) != 1 || !strings.Contains(notes[0], "-X agent.id has no effect") {
		t.Errorf("what the file of -c replaces: %q, %v", notes, err)
	}
}

// TestOurVariablesWin proves that Digdag's variables for the configuration are read only if ours are not set.
func TestOurVariablesWin(t *testing.T) {
	theirs, ours := t.TempDir(), t.TempDir()
	write(t, theirs, "config", "agent.id = of Digdag's folder")
	write(t, ours, "config", "agent.id = of our folder")
	t.Setenv("DIGDAG_CONFIG_HOME", theirs)
	t.Setenv("DIGDAG_CONFIG", "server.port = 1\nserver.bind = x")
	for _, c := range []struct {
		home, text string
		want       Settings
	}{
		{"", "", Settings{"agent.id": "of Digdag's folder", "server.port": "1", "server.bind": "x"}},
		{ours, "", Settings{"agent.id": "of our folder", "server.port": "1", "server.bind": "x"}},
		{"", "server.port = 2", Settings{"agent.id": "of Digdag's folder", "server.port": "2"}},
	} {
		t.Setenv("ZERODAG_CONFIG_HOME", c.home)
		t.Setenv("ZERODAG_CONFIG", c.text)
		got, err := (&Flags{}).Load()
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%q and %q: %v\n%s", c.home, c.text, err, diff)
		}
	}
	t.Setenv("ZERODAG_CONFIG", `\u`)
	if _, err := (&Flags{}).Load(); err == nil || !strings.Contains(err.Error(), "environment variable ZERODAG_CONFIG") {
		t.Errorf("an error does not name its source: %v", err)
	}
}

// TestFolder proves that Digdag's folder stays in use until our folder contains our files, and vice versa for a program
// that replaces Digdag.
func TestFolder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		files             string
		zerodag, asDigdag string
	}{
		{"", "zerodag", "digdag"},
		{"digdag/config", "digdag", "digdag"},
		{"digdag/secrets/a zerodag/dig.schema.json", "digdag", "digdag"},
		{"digdag/config zerodag/contexts/a", "zerodag", "digdag"},
		{"zerodag/context", "zerodag", "zerodag"},
	} {
		all := t.TempDir()
		for name := range strings.FieldsSeq(c.files) {
			if err := os.MkdirAll(filepath.Join(all, filepath.Dir(name)), 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, all, name, "")
		}
		for first, want := range map[string]string{"zerodag": c.zerodag, "digdag": c.asDigdag} {
			if got := folderIn(all, first); got != filepath.Join(all, want) {
				t.Errorf("%q, started as %s: %s, want %s", c.files, first, got, want)
			}
		}
	}
}

// TestWrongSources proves that a source that cannot be read, or that does not mean what its author intended, causes an
// error that names it.
func TestWrongSources(t *testing.T) {
	home := t.TempDir()
	t.Setenv("DIGDAG_CONFIG_HOME", home)
	t.Setenv("DIGDAG_CONFIG", "")
	if s, err := (&Flags{}).Load(); err != nil || len(s) > 0 {
		t.Errorf("without any source: %v, %v", s, err)
	}
	for name, want := range map[string]string{
		write(t, home, "escape", `server.bind = \u12`):        "must be Java properties",
		write(t, home, "slip", "server.prot = 1"):             "did you mean server.port?",
		filepath.Join(home, "missing"):                        "names a file with lines such as",
		home:                                                  "names a file with lines such as",
		write(t, home, "control", "log-server.type\x00 = s3"): "did you mean log-server.type?",
	} {
		_, err := (&Flags{Config: name}).Load()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := CheckFile(home); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("a folder: %v", err)
	}
	t.Setenv("DIGDAG_CONFIG", `\u`)
	if _, err := (&Flags{}).Load(); err == nil || !strings.Contains(err.Error(), "environment variable DIGDAG_CONFIG") {
		t.Errorf("the environment: %v", err)
	}
}

// TestParametersInTheirOrder proves that parameters from a file override parameters from the configuration, that
// parameters set by -p override both, that dots create mappings, which merge values from all three, and that the folder
// of a project elsewhere is a parameter.
func TestParametersInTheirOrder(t *testing.T) {
	t.Parallel()
	file := write(t, t.TempDir(), "p.yml", "a: {b: 2, c: [1, x]}\nd: yes it is\n")
	f := Flags{Params: []string{"a.b=3,e=4", "list=[1,2]"}, paramsFile: file}
	got, err := f.Parameters(Settings{"params.a.b": "1", "params.a.z": "1", "params.": "nothing", "config.x": "1"})
	want := param.New("a", param.New("z", "1", "b", "3", "c", []param.Value{int64(1), "x"}), "d", "yes it is", "e", "4", "list", "[1,2]")
	if err != nil || !param.Equal(got, want) {
		t.Errorf("%s, %v", param.Text(got), err)
	}
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for root, has := range map[string]bool{here: false, "/elsewhere": true} {
		got, err := f.ParametersAt(nil, root)
		if err != nil || got.Has(ProjectPath) != has {
			t.Errorf("of %s: %s, %v", root, param.Text(got), err)
		}
	}
}

// TestWrongParameters proves that a parameter that no task could read, or whose value cannot be a string, causes an
// error.
func TestWrongParameters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		f     Flags
		s     Settings
		want  string
		usage bool
	}{
		{f: Flags{Params: []string{"a"}}, want: "expected a value of the form a=b", usage: true},
		{f: Flags{Params: []string{"=1"}}, want: "not a valid parameter name", usage: true},
		{f: Flags{Params: []string{"a..b=1"}}, want: "not a valid parameter name", usage: true},
		{f: Flags{Params: []string{"a =1"}}, want: "without spaces around KEY", usage: true},
		{f: Flags{Params: []string{"session_time=x"}}, want: "--session selects the session", usage: true},
		{f: Flags{Params: []string{"timezone.x=UTC"}}, want: "choose another name", usage: true},
		{f: Flags{Params: []string{"a=1,a.b=2"}}, want: "'a' is not a object"},
		{s: Settings{"params.a": "1", "params.a.b": "2"}, want: "'a' is not a object"},
		{f: Flags{paramsFile: "/nonexistent.yml"}, want: "file /nonexistent.yml does not exist"},
		{f: Flags{paramsFile: t.TempDir()}, want: "is a folder"},
	} {
		m, err := c.f.Parameters(c.s)
		if err == nil || !strings.Contains(err.Error(), c.want) || program.IsUsageError(err) != c.usage {
			t.Errorf("%+v: %v, %v", c.f, m, err)
		}
	}
}

// TestTell checks which options are reported as having no effect: unused -X keys, but not the keys of other programs
// that share the file.
func TestTell(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		f    Flags
		s    Settings
		want []string
	}{
		{f: Flags{System: []string{"java.io.tmpdir=/x", "server.port=1", "http.proxyHost=x"}}},
		{s: Settings{"my.key": "of the default file"}},
		{f: Flags{System: []string{"my.key=1"}}, want: []string{"my.key"}},
		{f: Flags{Config: "x"}, s: Settings{"my.key": "1", "server": "{", "port": "1"}, want: []string{"my.key", "server", "keys cannot be nested"}},
		{f: Flags{Params: []string{"a=1,b"}}, want: []string{"--param a=1,b is one parameter"}},
		{f: Flags{Params: []string{"a=[1,b]", "x=1,2"}}},
	} {
		var out strings.Builder
		c.f.Tell(&out, c.s)
		if (out.Len() > 0) != (len(c.want) > 0) {
			t.Errorf("%+v: %q", c.f, out.String())
		}
		for _, want := range c.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%+v: %q, want %q", c.f, out.String(), want)
			}
		}
	}
}

// TestLogWriter proves that lines are appended to an existing log file, and that only its owner can read it.
func TestLogWriter(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "log")
	for range 2 {
		out, end, err := (&Flags{LogPath: name}).LogWriter(io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(out, "line\n")
		if err := end(); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(name)
	info, _ := os.Stat(name)
	if err != nil || string(text) != "line\nline\n" || info.Mode().Perm() != 0o600 {
		t.Errorf("%q, %v, %v", text, info.Mode(), err)
	}
	if out, end, err := (&Flags{LogPath: "-"}).LogWriter(io.Discard); out != io.Discard || err != nil || end() != nil {
		t.Errorf("on the console: %v, %v", out, err)
	}
	if _, _, err := (&Flags{LogPath: filepath.Join(name, "x")}).LogWriter(io.Discard); err == nil {
		t.Error("a log below a file is opened")
	}
}

// TestLogLevel proves that only the names of levels are accepted, and that other names cause a command-line error.
func TestLogLevel(t *testing.T) {
	t.Parallel()
	if level, err := LogLevel("debug"); err != nil || level != 3 {
		t.Errorf("debug: %d, %v", level, err)
	}
	if _, err := LogLevel("loud"); !program.IsUsageError(err) || !strings.Contains(err.Error(), "it must be one of error, warn, info, debug, trace") {
		t.Errorf("loud: %v", err)
	}
}

// FuzzAddText proves that no configuration file causes a panic, and that existing keys stay or are replaced.
func FuzzAddText(f *testing.F) {
	f.Add("a=b\nc : d\\\n e")
	f.Add("\\u0000=\n!x\n=")
	f.Fuzz(func(t *testing.T, text string) {
		s := Settings{"there": "already"}
		before := maps.Clone(s)
		if err := s.AddText("test", text); err != nil {
			if diff := cmp.Diff(before, s); diff != "" {
				t.Errorf("a text that is refused changes something:\n%s", diff)
			}
			return
		}
		if _, there := s["there"]; !there {
			t.Error("a key is gone")
		}
	})
}

// TestReadable proves that there is a warning about a configuration file that contains a secret if every user of the
// machine can read it, and about no other file.
func TestReadable(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("NOT RUN on Windows: files have no such permissions")
	}
	for _, c := range []struct {
		text string
		mode os.FileMode
		want string
	}{
		{"server.authenticator.basic.password = p", 0o644, "which contains server.authenticator.basic.password: restrict it"},
		{"server.authenticator.basic.password = p", 0o640, ""},
		{"database.user = u\nserver.tls.key-file = k.pem", 0o644, ""},
		{"database.password =", 0o644, ""},
	} {
		f := Flags{Config: filepath.Join(t.TempDir(), "config")}
		if err := os.WriteFile(f.Config, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(f.Config, c.mode); err != nil {
			t.Fatal(err)
		}
		settings, err := f.Load()
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Readable(settings); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%q with %o: %q, want %q", c.text, c.mode, got, c.want)
		}
	}
}
