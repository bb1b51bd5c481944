package cli_test

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/integration/stack"
)

//go:embed transcripts.json
var transcripts []byte

// recorded is one Digdag command line with its output.
type recorded struct {
	Cmd, Cwd, Stdout, Stderr string
	RC                       int
	Files                    []string
}

// TestTranscripts checks that scripts written for Digdag's command line keep working: each recorded command line, in
// order, ends with the same exit code and prints the same lines, apart from times, attempt IDs, random names and the
// order of files. If zerodag's errors are more detailed, the test accounts for it.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	var all struct{ Runs []recorded }
	if err := json.Unmarshal(transcripts, &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Runs) < 50 {
		t.Fatalf("only %d command lines are recorded", len(all.Runs))
	}
	r := newReplay(t)
	for _, want := range all.Runs {
		r.compare(t, want)
	}
}

// replay runs command lines one after the other, because each depends on the previous ones.
type replay struct {
	program, work, endpoint string
	token                   string                       // of the server; "" if no login is needed
	deployed                bool                         // the server is a deployed stack
	commands                bool                         // it runs sh>
	ids                     map[string]map[string]string // our IDs by recorded ID, by kind
}

func newReplay(t *testing.T) *replay {
	t.Helper()
	r := &replay{work: t.TempDir(), ids: map[string]map[string]string{"attempt": {}, "session": {}, "schedule": {}}}
	r.program = build(t, r.work)
	place, deployed := stack.Find()
	shell := "sh"
	if r.commands = place.Commands; !r.commands {
		shell = "echo"
	}
	if r.deployed = deployed; deployed {
		r.endpoint, r.token = place.URL, place.SiteToken(t, stack.FreshSite(), "admin")
	}
	for name, text := range map[string]string{
		"proj/ok.dig":     "timezone: Asia/Tokyo\n_export:\n  v: 1\nschedule:\n  daily>: \"07:00:00\"\n+a:\n  echo>: hello ${v} ${session_date}\n+b:\n  " + shell + ">: echo from sh\n+g:\n  +c:\n    echo>: c\n  +d:\n    echo>: d\n",
		"proj/fail.dig":   "+a:\n  " + shell + ">: echo a\n+b:\n  " + shell + ">: test -f ok_marker\n+c:\n  echo>: c\n",
		"proj/prm.dig":    "+a:\n  echo>: ${v} ${w}\n",
		"proj/params.yml": "v: 1\n",
		"proj/ok_marker":  "",
		"home/.keep":      "",
	} {
		name = filepath.Join(r.work, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if !deployed {
		r.endpoint = r.serve(t)
	}
	return r
}

// build makes the program. It reads every source file, so that the Go tool uses a cached result only if none has
// changed.
func build(t *testing.T, folder string) string {
	t.Helper()
	err := filepath.WalkDir("../..", func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // a temporary file of another process
			return nil
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "integration" || d.Name() == ".git"):
			return fs.SkipDir
		case filepath.Ext(name) == ".go":
			os.Stat(name) // its result does not matter here
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(folder, "digdag") // with this name, it has Digdag's exit codes
	if out, err := exec.Command("go", "build", "-o", program, "zerodag/cmd/zerodag").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return program
}

func (r *replay) command(dir string, args ...string) *exec.Cmd {
	c := exec.Command(r.program, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "TZ=UTC", "HOME="+filepath.Join(r.work, "home"), "ZERODAG_CONFIG=", "ZERODAG_CONFIG_HOME=", "DIGDAG_CONFIG=", "DIGDAG_CONFIG_HOME="+filepath.Join(r.work, "home/digdag"),
		"http_proxy=", "HTTP_PROXY=", "ZERODAG_TOKEN="+r.token, "ZERODAG_IAM=")
	return c
}

// serve starts a server of the same program and returns its address.
func (r *replay) serve(t *testing.T) string {
	t.Helper()
	c := r.command(r.work, "server", "--memory", "--port", "0", "-X", "server.runtime-info.path="+filepath.Join(r.work, "info.json"))
	var log bytes.Buffer
	c.Stderr = &log
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Signal(os.Interrupt)
		c.Wait()
	})
	var text []byte
	for buffer := make([]byte, 4096); ; {
		n, err := out.Read(buffer)
		text = append(text, buffer[:n]...)
		if m := regexp.MustCompile(`Listening on (http://\S+)`).FindSubmatch(text); m != nil {
			return string(m[1])
		}
		if err != nil {
			t.Fatalf("the server does not listen: %v\n%s%s", err, text, &log)
		}
	}
}

// takesTime lists options whose value is a time with spaces, because recorded lines have no quotes.
var takesTime = []string{"--schedule-from", "--from", "--next", "--session"}

// arguments splits a recorded line and inserts our address, folder and IDs.
func (r *replay) arguments(line string) []string {
	line = strings.NewReplacer("127.0.0.1:65433", r.endpoint, "@W@", r.work).Replace(line)
	words := strings.Fields(line)[1:]
	var args []string
	for i := 0; i < len(words); i++ {
		args = append(args, words[i])
		if !slices.Contains(takesTime, words[i]) {
			continue
		}
		i++
		value := words[i]
		for i+1 < len(words) && regexp.MustCompile(`^(\d\d:\d\d:\d\d|[+-]\d{4})$`).MatchString(words[i+1]) {
			i++
			value += " " + words[i]
		}
		args = append(args, value)
	}
	if len(words) > 1 {
		if ours := r.ids[kinds[words[0]]][words[1]]; ours != "" {
			args[1] = ours
		}
	}
	return args
}

// kinds maps a command to the kind of its id.
var kinds = map[string]string{"retry": "attempt", "kill": "attempt", "log": "attempt", "attempt": "attempt", "task": "attempt", "tasks": "attempt",
	"session": "session", "attempts": "session", "skip": "schedule", "reschedule": "schedule", "disable": "schedule", "enable": "schedule"}

func (r *replay) compare(t *testing.T, want recorded) {
	t.Helper()
	if !r.commands {
		want.Stdout = withoutCommands.Replace(want.Stdout)
	}
	args := r.arguments(want.Cmd)
	c := r.command(filepath.Join(r.work, strings.TrimPrefix(want.Cwd, "@W@")), args...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if got := c.ProcessState.ExitCode(); got != want.RC {
		t.Errorf("%s: exit code %d, want %d\n%s%s", want.Cmd, got, want.RC, &out, &errs)
	}
	if diff := cmp.Diff(r.normal(want.Stdout), r.normal(out.String())); diff != "" {
		t.Errorf("%s: stdout (-recorded +ours)\n%s", want.Cmd, diff)
	}
	if diff := cmp.Diff(r.normalErr(args, want.Stderr), r.normalErr(args, errs.String())); diff != "" {
		t.Errorf("%s: stderr (-recorded +ours)\n%s", want.Cmd, diff)
	}
	r.learn(t, want.Stdout, out.String())
}

var (
	idLine     = regexp.MustCompile(`(?m)^  (attempt|session) id: (\d+)$`)
	scheduleID = regexp.MustCompile(`(?m)^Schedules:\n  id: (\d+)$`)
)

// learn records our IDs for what a command started, and waits for the end: the recorded command lines were slow enough
// to need no wait.
func (r *replay) learn(t *testing.T, want, got string) {
	t.Helper()
	if theirs, ours := scheduleID.FindStringSubmatch(want), scheduleID.FindStringSubmatch(got); theirs != nil && ours != nil {
		r.ids["schedule"][theirs[1]] = ours[1]
	}
	theirs, ours := idLine.FindAllStringSubmatch(want, -1), idLine.FindAllStringSubmatch(got, -1)
	if !strings.HasPrefix(want, "Started") || len(theirs) != 2 || len(ours) != 2 {
		return
	}
	for i := range theirs {
		r.ids[theirs[i][1]][theirs[i][2]] = ours[i][2]
	}
	attempt := ours[slices.IndexFunc(ours, func(m []string) bool { return m[1] == "attempt" })][2]
	if out, err := r.command(r.work, "log", attempt, "-f", "-e", r.endpoint).CombinedOutput(); err != nil {
		t.Fatalf("wait for attempt %s: %v\n%s", attempt, err, out)
	}
}

// rules removes differences between runs.
var rules = []struct{ pattern, with string }{
	{`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)? [+-]\d{4}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|@TS@`, "@TS@"},
	{`\((in )?(\d+h )?(\d+m )?\d+s( ago)?\)`, "(away)"},
	{`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`, "@UUID@"},
	{`archive-(\d+|@N@)\.tar\.gz`, "archive-@N@.tar.gz"},
	{`\((\d+|@TID@)@\[0:`, "(@TID@@[0:"},
	{`(attempt id: |attempt_id=|retry |task |log )\d+`, "${1}@ID@"},
	{`:\d+:\d+\]\+`, ":@ID@]+"},
	{`(Client|Server) version: .*`, "$1 version: @V@"},
	{`digdag `, "zerodag "},
	{`(?m)^  archive type: .*`, "  archive type: @TYPE@"},
}

// deployedRules removes differences in a deployed stack: IDs, the form of log lines, which `taskLogFormat` determines,
// and the command that a machine ran for a task, which the task's state names.
var deployedRules = []struct{ pattern, with string }{
	{`\b((session[ _]|project |schedule )?id(: |=| = )|(session|attempts|schedule) )\d+\b`, "${1}@ID@"},
	{`\((\d+|@TID@)@\[[^\]]*\]([^)]*)\) io\.digdag\.core\.agent\.OperatorManager: `, "$2: "},
	{`"commandStatus":\{[^{}]*\},?`, ""},
}

// withoutCommands turns the recording into the responses of a server that runs no commands.
var withoutCommands = strings.NewReplacer("sh>", "echo>", "\nfrom sh\n", "\necho from sh\n", "\na\n", "\necho a\n")

// normal returns text as sorted blocks, because files are listed, and concurrent tasks log, in no fixed order.
func (r *replay) normal(text string) []string {
	all := rules
	if r.deployed {
		all = slices.Concat(deployedRules, rules)
	}
	for _, rule := range all {
		text = regexp.MustCompile(rule.pattern).ReplaceAllString(text, rule.with)
	}
	lines := strings.Split(text, "\n")
	isListed := func(l string) bool {
		return strings.HasPrefix(l, "  Archiving") || strings.HasPrefix(l, "  dl/") || strings.HasPrefix(l, "@TS@ [")
	}
	for i := 0; i < len(lines); i++ {
		from := i
		for i < len(lines) && (isListed(lines[i]) || i > 0 && strings.HasPrefix(lines[from], "@TS@ [")) {
			i++
		}
		slices.Sort(lines[from:i])
	}
	return lines
}

// normalErr returns the output on stderr without the first line, the usage, and text that zerodag adds or improves.
func (r *replay) normalErr(args []string, text string) []string {
	if i := strings.Index(text, "error: "); i >= 0 && (strings.HasPrefix(text, "$usage") || strings.HasPrefix(text, "Usage:")) {
		text = text[i:]
	} else if strings.HasPrefix(text, "$usage") || strings.HasPrefix(text, "Usage:") {
		return nil
	}
	text = regexp.MustCompile(`(?m)^.*: (Digdag|zerodag) v.*\n`).ReplaceAllString(text, "")
	text = regexp.MustCompile(`(?s)(Changes:\n.*|Nothing changed in workflows.*)$`).ReplaceAllString(text, "")
	for _, better := range betterErrors {
		text = regexp.MustCompile(better.pattern).ReplaceAllString(text, better.with)
	}
	return r.normal(strings.TrimRight(text, "\n"))
}

// betterErrors lists errors in which zerodag says more than Digdag.
var betterErrors = []struct{ pattern, with string }{
	{`(?s)(Resource not found: )(HTTP 404 Not Found|\{"message":"Resource does not exist.*)`, "${1}@WHAT@"},
	{`(?s)(no server answers at|RESTEASY004655).*`, "@NO SERVER@"},
	{`(?s)(available commands are: ).*`, "$1@COMMANDS@"},
	{`(Cannot invoke "java.io.Console|cannot prompt for the value of).*`, "@NO TERMINAL@"},
}

// TestUnreachable checks that a command reports promptly and clearly that no server answers.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	r := &replay{work: t.TempDir()}
	r.program = build(t, r.work)
	begin := time.Now()
	out, err := r.command(r.work, "projects", "-e", "127.0.0.1:1").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "error: no server answers at http://127.0.0.1:1: connection refused\nhint: start one with `digdag server`") {
		t.Errorf("%v: %s", err, out)
	}
	if took := time.Since(begin); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}
