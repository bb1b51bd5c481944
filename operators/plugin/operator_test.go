package plugin_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/operatortest"
	"zerodag/operators/plugin"
)

// script writes an executable into a project's operators folder.
func script(t *testing.T, w *operatortest.World, file, text string) {
	t.Helper()
	name := plugin.Folder + "/" + file
	w.File(t, name, text)
	if err := os.Chmod(filepath.Join(w.Files.Root(), name), 0o755); err != nil {
		t.Fatal(err)
	}
}

// own returns an operator of w's project.
func own(t *testing.T, w *operatortest.World, name string) operators.Operator {
	t.Helper()
	o, found, err := plugin.Operator().Find(&w.Task, name)
	if err != nil || !found {
		t.Fatalf("find %s>: %v, %v", name, found, err)
	}
	return o
}

// answering returns a program that answers with the given text and exits with the given code.
func answering(text, code string) string {
	return "#!/bin/sh\ncat >/dev/null\nprintf '%s' '" + text + "' >\"$ZERODAG_RESULT\"\nexit " + code + "\n"
}

func TestPlugin(t *testing.T) {
	t.Parallel()
	for name, good := range map[string]string{
		"result": answering(`{"export": {"a": 1}, "store": {"b": [1]}, "subtasks": {"+x": {"echo>": "x"}}}`, "0"),
		"poll":   answering(`{"poll": {"after": 5, "state": {"id": "x"}}}`, "0"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prepare := func(t *testing.T, w *operatortest.World) {
				program := good
				if w.Local.Has("slow") {
					program = "#!/bin/sh\necho begun\nsleep 1000\n"
				}
				script(t, w, "mine", program)
			}
			w := operatortest.New(t, `{}`)
			prepare(t, w)
			operatortest.Exercise(t, operatortest.Subject{
				Operator: own(t, w, "mine"),
				Good:     `{"_command": "x"}`,
				Slow:     `{"slow": true}`,
				ReadsAll: true,
				Own:      true,
				Prepare:  prepare,
				Wrong: []string{
					`{"_secrets": 1}`, `{"_secrets": {"a": false}}`, `{"_secrets": {"a": {"b": [1]}}}`, `{"_workdir": {}}`, `{"_env": 1}`,
				},
			})
		})
	}
}

// TestRequest compares the request to a program with the golden file, which defines the protocol.
func TestRequest(t *testing.T) {
	t.Parallel()
	w := operatortest.New(t, `{"_type": "show", "_command": {"a": [1, 2.5, null]}, "size": 3, "_secrets": {"api": {"token": true}}}`)
	w.State = param.New("retry_count", int64(1), "plugin", operatortest.Map(t, `{"state": {"id": "job-1"}, "cancel": true}`))
	w.Vault["api.token"], w.Vault["other"] = "s3cret", "not granted"
	w.Revision, w.SiteID = "r1", 2
	script(t, w, "show.sh", "#!/bin/sh\ncat\n")
	if diff := cmp.Diff(operatortest.Ended{}, operatortest.RunOnce(t, own(t, w, "show"), w)); diff != "" {
		t.Fatal(diff)
	}
	want, err := os.ReadFile("testdata/request.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(param.Text(operatortest.Map(t, string(want))), w.Output.String()); diff != "" {
		t.Errorf("the request is not that of testdata/request.json: %s", diff)
	}
}

func TestEnds(t *testing.T) {
	t.Parallel()
	big := "#!/bin/sh\nhead -c 1048577 /dev/zero | tr '\\0' ' ' >\"$ZERODAG_RESULT\"\n"
	huge := "#!/bin/sh\nhead -c 20000000 /dev/zero >\"$ZERODAG_RESULT\"\n"
	for name, c := range map[string]struct {
		program string
		want    operatortest.Ended
	}{
		"no answer":          {"#!/bin/sh\ntrue\n", operatortest.Ended{}},
		"empty answer":       {answering(" \n", "0"), operatortest.Ended{}},
		"empty object":       {answering("{}", "0"), operatortest.Ended{}},
		"result":             {answering(`{"store": {"a": 1.0}, "export": {"b": "x"}, "subtasks": {"+x": {"sh>": "x"}}}`, "0"), operatortest.Ended{Subtasks: `{"+x":{"sh>":"x"}}`, Export: `{"b":"x"}`, Store: `{"a":1.0}`}},
		"no subtasks":        {answering(`{"subtasks": {}}`, "0"), operatortest.Ended{}},
		"error":              {answering(`{"error": {"message": "no such table"}}`, "0"), operatortest.Ended{Error: "no such table"}},
		"error and code":     {answering(`{"error": {"message": "no such table"}}`, "3"), operatortest.Ended{Error: "no such table"}},
		"code":               {"#!/bin/sh\nexit 3\n", operatortest.Ended{Error: "mine> ended with code 3; see the task's log", Kind: "runtime"}},
		"answer and code":    {answering(`{"store": {"a": 1}}`, "3"), operatortest.Ended{Error: "mine> ended with code 3; see the task's log", Kind: "runtime"}},
		"signal":             {"#!/bin/sh\nkill -9 $$\n", operatortest.Ended{Error: "mine> ended with code 137; see the task's log", Kind: "runtime"}},
		"no JSON":            {answering(`{"store"`, "0"), operatortest.Ended{Error: "mine> wrote an answer that cannot be read: it is not valid JSON: unexpected EOF", Kind: "runtime"}},
		"no JSON and code":   {answering(`oops`, "4"), operatortest.Ended{Error: "mine> ended with code 4, and its answer cannot be read: it is not valid JSON: invalid character 'o' looking for beginning of value", Kind: "runtime"}},
		"unknown field":      {answering(`{"stores": {}}`, "0"), operatortest.Ended{Error: "mine> wrote an answer that cannot be read: it has the unknown field 'stores': did you mean 'store'?", Kind: "runtime"}},
		"too large":          {big, operatortest.Ended{Error: "mine> wrote an answer that cannot be read: it is 1048577 bytes, but an answer may have at most 1048576: store large data in files or elsewhere", Kind: "runtime"}},
		"far too large":      {huge, operatortest.Ended{Error: "read scratch folder: result.json is 20000000 bytes, but at most 16777216 are allowed", Kind: "runtime"}},
		"pipe":               {"#!/bin/sh\nmkfifo \"$ZERODAG_RESULT\"\n", operatortest.Ended{Error: "read scratch folder: result.json is not a regular file", Kind: "runtime"}},
		"no interpreter":     {"#!/nosuch/python\n", operatortest.Ended{Error: "mine> ended with code 127: operators/mine or the interpreter in its first line cannot be started; see the task's log", Kind: "runtime"}},
		"poll":               {answering(`{"poll": {"after": "1m 30s", "state": {"n": 1}, "cancel": true}}`, "0"), operatortest.Ended{Error: "run again after 1m30s", Kind: "later"}},
		"secret not granted": {"#!/bin/sh\ngrep -q 's3cret' && exit 9\nenv | grep -q s3cret && exit 8\ntrue\n", operatortest.Ended{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := operatortest.New(t, `{}`)
			w.Vault["api.token"] = "s3cret"
			script(t, w, "mine", c.program)
			if diff := cmp.Diff(c.want, operatortest.RunOnce(t, own(t, w, "mine"), w)); diff != "" {
				t.Errorf("%s\nlog: %s", diff, w.Output)
			}
		})
	}
}

// TestMissingSecret checks that a program does not run without a secret that it needs.
func TestMissingSecret(t *testing.T) {
	t.Parallel()
	w := operatortest.New(t, `{"_secrets": {"api": {"token": true}}}`)
	script(t, w, "mine", "#!/bin/sh\necho ran\n")
	got := operatortest.RunOnce(t, own(t, w, "mine"), w)
	if diff := cmp.Diff(operatortest.Ended{Error: "Secret not found for key: 'api.token'", Kind: "secret not found"}, got); diff != "" {
		t.Error(diff)
	}
	if w.Output.String() != "" {
		t.Errorf("the program ran: %s", w.Output)
	}
}

// TestSecretsAreNotKept checks that the request, which may contain secrets, has no name on disk, either while the
// program runs or afterward.
func TestSecretsAreNotKept(t *testing.T) {
	t.Parallel()
	w := operatortest.New(t, `{"_secrets": {"k": true}}`)
	w.Vault["k"] = "s3cret-value"
	script(t, w, "mine", "#!/bin/sh\ngrep -o s3cret-value\ngrep -rl s3cret-value . && echo FOUND\ntrue\n")
	if diff := cmp.Diff(operatortest.Ended{}, operatortest.RunOnce(t, own(t, w, "mine"), w)); diff != "" {
		t.Fatal(diff)
	}
	if diff := cmp.Diff("s3cret-value\n", withoutFile(w.Output.String(), "operators/mine")); diff != "" {
		t.Error(diff)
	}
	err := filepath.WalkDir(w.Files.Root(), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "mine" {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "s3cret-value") {
			t.Errorf("%s still holds the secret", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// withoutFile removes the test's own program from the found files, because its text contains the word.
func withoutFile(output, file string) string {
	return strings.NewReplacer("./"+file+"\nFOUND\n", "").Replace(output)
}

// TestPolls checks that a program gets its own state back, and no other state.
func TestPolls(t *testing.T) {
	t.Parallel()
	w := operatortest.New(t, `{}`)
	script(t, w, "mine", `#!/bin/sh
case $(cat) in
*'"state":{"n":1}'*) echo '{"store": {"done": true}}' >"$ZERODAG_RESULT" ;;
*'"state":{}'*) echo '{"poll": {"after": 2, "state": {"n": 1}}}' >"$ZERODAG_RESULT" ;;
*) exit 9 ;;
esac
`)
	o := own(t, w, "mine")
	w.State = param.New("retry_count", int64(4))
	_, err := o.Run(t.Context(), &w.Task)
	var later *operators.Later
	if !errors.As(err, &later) || later.After != 2*time.Second {
		t.Fatalf("got %v", err)
	}
	if got, want := param.Text(later.State), `{"retry_count":4,"plugin":{"state":{"n":1},"cancel":false}}`; got != want {
		t.Errorf("state %s, want %s", got, want)
	}
	w.State = later.State
	if diff := cmp.Diff(operatortest.Ended{Store: `{"done":true}`}, operatortest.RunOnce(t, o, w)); diff != "" {
		t.Error(diff)
	}
}

// TestKill checks that, after a kill between two polls, a program is called only if it requested that.
func TestKill(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]string{
		`{}`: "",
		`{"plugin": {"state": {"id": "job-1"}, "cancel": false}}`: "",
		`{"plugin": {"state": {"id": "job-1"}, "cancel": true}}`:  "\"action\":\"cancel\"\n\"state\":{\"id\":\"job-1\"}\n",
	} {
		w := operatortest.New(t, `{}`)
		w.State = operatortest.Map(t, state)
		script(t, w, "mine", "#!/bin/sh\ngrep -oE '\"action\":\"[a-z]*\"|\"state\":\\{[^}]*\\}'\n")
		if err := own(t, w, "mine").Clean(t.Context(), &w.Task); err != nil {
			t.Errorf("%s: %v", state, err)
		}
		if diff := cmp.Diff(want, w.Output.String()); diff != "" {
			t.Errorf("%s: %s", state, diff)
		}
	}
	w := operatortest.New(t, `{}`)
	w.State = operatortest.Map(t, `{"plugin": {"state": {}, "cancel": true}}`)
	script(t, w, "mine", "#!/bin/sh\nexit 5\n")
	if err := own(t, w, "mine").Clean(t.Context(), &w.Task); err == nil {
		t.Error("the failure of a clean-up is not told")
	}
}

// TestKillEndsIt checks that a kill ends the program and all processes that it started, and gives them time to clean
// up.
func TestKillEndsIt(t *testing.T) {
	t.Parallel()
	w := operatortest.New(t, `{}`)
	script(t, w, "mine", "#!/bin/sh\ntrap 'echo told; exit 1' TERM\n(sleep 1000) &\necho begun\nwait\n")
	ctx, cancel := context.WithCancel(t.Context())
	w.Output.OnWrite(cancel)
	if _, err := own(t, w, "mine").Run(ctx, &w.Task); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff("begun\ntold\n", w.Output.String()); diff != "" {
		t.Error(diff)
	}
}

// TestLog checks that a flood on stdout and stderr goes to the task's log and nowhere else.
func TestLog(t *testing.T) {
	t.Parallel()
	w := operatortest.New(t, `{}`)
	script(t, w, "mine", "#!/bin/sh\necho '{\"error\": {\"message\": \"x\"}}'\nhead -c 3000000 /dev/zero | tr '\\0' x >&2\n")
	if diff := cmp.Diff(operatortest.Ended{}, operatortest.RunOnce(t, own(t, w, "mine"), w)); diff != "" {
		t.Error(diff)
	}
	if n := len(w.Output.String()); n != 3000000+len(`{"error": {"message": "x"}}`)+1 {
		t.Errorf("the log is %d bytes", n)
	}
}

// TestWithoutCommands checks that a deployment that runs no commands reports this in its own words.
func TestWithoutCommands(t *testing.T) {
	t.Parallel()
	w := operatortest.New(t, `{}`)
	w.Commands = refusing{}
	script(t, w, "mine", "#!/bin/sh\necho ran\n")
	if diff := cmp.Diff(operatortest.Ended{Error: "no commands here", Kind: "runtime"}, operatortest.RunOnce(t, own(t, w, "mine"), w)); diff != "" {
		t.Error(diff)
	}
}

type refusing struct{}

func (refusing) Run(context.Context, operators.Command) (operators.Exit, error) {
	return operators.Exit{}, errors.New("no commands here")
}

func (refusing) Stop(context.Context, *param.Map) error { return nil }
