package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zerodag/operators"
)

// ofAnother creates a driver that runs commands as another user, and a project that this user can access.
func ofAnother(t *testing.T, id int) operators.Commands {
	t.Helper()
	if os.Getuid() != 0 {
		if strings.Contains(os.Getenv("REQUIRE"), "root") {
			t.Fatal("commands of another user need root, and REQUIRE names it")
		}
		t.Skip("NOT RUN: commands of another user need root")
	}
	parent, err := os.MkdirTemp("", "zerodag-user-") // other users cannot access the folders of package testing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(parent) })
	root := filepath.Join(parent, "project")
	for _, err := range []error{os.Chmod(parent, 0o711), os.Mkdir(root, 0o700), os.WriteFile(root+"/file", []byte("text"), 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return New(Options{}).As(&User{ID: id, Group: id, Name: "somebody", Home: "/nohome"}, root)
}

func TestAnotherUser(t *testing.T) {
	t.Parallel()
	commands := ofAnother(t, 31_001)
	var out bytes.Buffer
	c := operators.Command{Args: []string{"/bin/sh", "tmp/x/run.sh", "a b"}, Env: []string{"MINE=1"}, Stdout: &out, Scratch: "tmp/x",
		Files:   map[string][]byte{"run.sh": []byte(`id -u; id -G; cat file; echo; echo "$MINE $HOME $1"; cat /etc/shadow 2>&1 | wc -l; echo 5 >tmp/x/out; ls -d /proc/self/fd/3 2>&1 | grep -c cannot`)},
		Outputs: []string{"out"}}
	exit, err := commands.Run(t.Context(), c)
	if want := "31001\n31001\ntext\n1 /nohome a b\n1\n1\n"; err != nil || exit.Code != 0 || out.String() != want || string(exit.Outputs["out"]) != "5\n" {
		t.Errorf("got %+v, %v\n%s\nwant\n%s", exit, err, out.String(), want)
	}
	if _, err := commands.Run(t.Context(), operators.Command{Args: []string{"/nosuch/program"}}); err == nil || !strings.HasPrefix(err.Error(), "Cannot run program") {
		t.Errorf("a program that is not there: %v", err)
	}
}

// TestOutputsOfAnotherUser proves that root does not follow a link that a command left behind.
func TestOutputsOfAnotherUser(t *testing.T) {
	t.Parallel()
	commands := ofAnother(t, 31_002)
	for _, script := range []string{"ln -s /etc/shadow tmp/x/out", "mkfifo tmp/x/out", "rm -r tmp/x; ln -s /etc tmp/x"} {
		c := sh(script)
		c.Scratch, c.Files, c.Outputs = "tmp/x", map[string][]byte{"a": nil}, []string{"out"}
		if exit, err := commands.Run(t.Context(), c); err == nil && len(exit.Outputs) > 0 {
			t.Errorf("%s: got %+v", script, exit)
		}
		if _, err := os.Stat("/etc/passwd"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestProcessBombs proves that commands that fork endlessly are ended with a reason, and that none of their processes
// are left. On a busy machine, a bomb can reach its user's limit between two checks: in that case, its shells end
// because they cannot fork, and what remains of it is harmless until its time is up. It runs alone because it briefly
// uses the whole machine.
func TestProcessBombs(t *testing.T) {
	for i, bomb := range []string{
		`b() { while :; do b & done; }; b`,
		`b() { setsid sh -c "$BOMB" & setsid sh -c "$BOMB" & while :; do sleep 0.1 & wait; done; }; b`,
	} {
		id := 31_010 + i
		commands := ofAnother(t, id)
		c := sh(bomb)
		var out bytes.Buffer
		c.Env, c.Stdout, c.Sandbox = []string{"BOMB=" + bomb}, &out, operators.Sandbox{Processes: 100, Time: 30 * time.Second}
		began := time.Now()
		exit, err := commands.Run(t.Context(), c)
		refused := exit.Why == operators.TooLong(30*time.Second) && strings.Contains(out.String(), "annot fork")
		if err != nil || exit.Why != operators.TooManyProcesses(100) && !refused {
			t.Errorf("%s: got %+v because of %q, %v; its output:\n%.1000s", bomb, exit, exit.Why, err, &out)
		}
		if list := processesOf(id); len(list) > 0 {
			t.Errorf("%s: %d processes are left: %+v", bomb, len(list), list[0])
		}
		t.Logf("ended after %v", time.Since(began))
		if exit, err := commands.Run(t.Context(), sh("exit 3")); err != nil || exit.Code != 3 {
			t.Errorf("the next command: %+v, %v", exit, err)
		}
	}
}

// TestAnotherUserGetsNoRights proves that a command run as another user cannot gain rights from a setuid program, and
// inherits no descriptors from the program that started this one.
func TestAnotherUserGetsNoRights(t *testing.T) {
	t.Parallel()
	commands := ofAnother(t, 31_003)
	var out bytes.Buffer
	c := sh(`grep -E "^(NoNewPrivs|CapBnd|CapEff|CapPrm|CapInh|CapAmb):" /proc/self/status; ls /proc/self/fd | tr "\n" " "`)
	c.Stdout = &out
	if exit, err := commands.Run(t.Context(), c); err != nil || exit.Code != 0 {
		t.Fatal(exit, err)
	}
	const none = ":\t0000000000000000\n"
	want := "CapInh" + none + "CapPrm" + none + "CapEff" + none + "CapBnd" + none + "CapAmb" + none + "NoNewPrivs:\t1\n0 1 2 "
	if got := out.String(); !strings.HasPrefix(got, want) {
		t.Errorf("the command has\n%s\nwant\n%s", got, want)
	}
}

func TestMapped(t *testing.T) {
	t.Parallel()
	const container = "         0       1000          1\n         1     100000      65536\n"
	for id, want := range map[int64]bool{0: true, 1: true, 65536: true, 65537: false, 70000: false} {
		if got := mapped(container, id); got != want {
			t.Errorf("%d: got %v", id, got)
		}
	}
	if !mapped("         0          0 4294967295\n", 99_999) || mapped("", 0) || mapped("x y z\n", 0) {
		t.Error("a whole, an empty or an unreadable table")
	}
}
