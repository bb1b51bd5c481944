package security

import (
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// machineOpen lists the files below a folder that others may access, whatever the folder's own mode.
func machineOpen(t *testing.T, folder string) (list []string) {
	t.Helper()
	n := 0
	err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if n++; info.Mode().Perm()&0o077 != 0 {
			list = append(list, info.Mode().String()+" "+name)
		}
		return nil
	})
	if err != nil || n < 2 {
		t.Fatalf("%d files, %v", n, err)
	}
	return list
}

// TestH2_DataIsTheServersAlone checks that others cannot read any file of the data, whatever the umask, and that data
// left readable by an earlier release is made private, with one warning.
func TestH2_DataIsTheServersAlone(t *testing.T) {
	t.Parallel()
	s := prepare(t, "-A", filepath.Join(t.TempDir(), "access"))
	s.before = "umask 0"
	s.boot()
	if ok, log := s.run("p", machineShell("echo hello; for i in $(seq 2000); do echo $i 0123456789; done")); !ok {
		t.Fatal(log)
	}
	s.send("PUT", "/api/projects/1/secrets/k", "application/json", []byte(`{"value":"v"}`), nil)
	kept := func() []string {
		var list []string
		for _, name := range machineOpen(t, s.data()) {
			if !strings.Contains(name, "/data/zerodag-") { // unpacked archives keep the modes of their files
				list = append(list, name)
			}
		}
		return list
	}
	if list := kept(); len(list) > 0 {
		t.Errorf("others may read\n%s", strings.Join(list, "\n"))
	}
	if list := machineOpen(t, s.options[1]+"/.."); len(list) > 1 { // the folder of the test itself
		t.Errorf("others may read of the access log\n%s", strings.Join(list, "\n"))
	}
	s.kill()
	if strings.Contains(s.log(), "their access was removed") {
		t.Error("new data was warned of")
	}
	for _, name := range []string{"", "zerodag.db", "secret.key", "logs", "blobs", "blobs/archives"} {
		if err := os.Chmod(filepath.Join(s.data(), name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		s.boot()
		if list := kept(); len(list) > 0 {
			t.Errorf("others may still read\n%s", strings.Join(list, "\n"))
		}
		s.kill()
	}
	if n := strings.Count(s.log(), "their access was removed"); n != 1 {
		t.Errorf("warned %d times:\n%s", n, s.log())
	}
}

// TestH2_CommandsOfAUserCannotReadTheData checks that with process.user, a command works in its project and can read
// neither the data nor the files of other commands.
func TestH2_CommandsOfAUserCannotReadTheData(t *testing.T) {
	t.Parallel()
	asRoot(t)
	s := prepare(t, "-X", "agent.command_executor.process.user=nobody")
	for f := s.folder; f != "/tmp" && f != "/" && f != os.TempDir(); f = filepath.Dir(f) {
		os.Chmod(f, 0o755) // only the data itself must be inaccessible
	}
	s.boot()
	secret := s.beginMain("other", machineShell("echo in-the-file >mine; sleep 600"))
	script := `id -un; echo ok >file; cat file; for f in zerodag.db zerodag.db-wal secret.key logs blobs; do head -c 20 ` + s.data() + `/$f && echo RE""AD $f; done;
ls -d ..; ls .. && echo LIS""TED; ls ../.. && echo LIS""TED; ls ../../archive && echo LIS""TED; ls ` + s.data() + ` && echo LIS""TED; true`
	ok, log := s.run("p", machineShell(script))
	if !ok || !strings.Contains(log, "nobody\nok\n") || strings.Contains(log, "READ") || strings.Contains(log, "LISTED\n") || strings.Count(log, "ermission denied") < 8 {
		t.Errorf("succeeded %v:\n%s", ok, log)
	}
	s.send("POST", "/api/attempts/"+secret+"/kill", "application/json", nil, nil)
	s.succeeded(secret)
}

// TestH2_SitesOnAServerOfRoot checks that on a server that runs as root and requires a login, commands run by default
// as a separate user for each site: a project of another site can read neither the data nor the workspaces.
func TestH2_SitesOnAServerOfRoot(t *testing.T) {
	t.Parallel()
	asRoot(t)
	s := prepare(t, "-X", "server.authenticator.basic.username=boss", "-X", "server.authenticator.basic.password=pw", "-X", "server.authenticator.basic.admin=true")
	for f := s.folder; f != "/tmp" && f != "/" && f != os.TempDir(); f = filepath.Dir(f) {
		os.Chmod(f, 0o755) // only the data itself must be inaccessible
	}
	s.boot()
	owner := []string{"Authorization", "Basic Ym9zczpwdw=="}
	a := s.call(http.MethodPost, "/api/tokens", []byte(`{"name":"seven","role":"admin","site":7}`), append(owner, "Content-Type", "application/json")...)
	token, _ := a.object(t)["token"].(string)
	if token == "" {
		t.Fatalf("token: %d %s", a.Status, a.Body)
	}
	hostile := []string{"Authorization", "Bearer " + token}
	file := filepath.Join(s.folder, "workspace")
	if err := os.WriteFile(file, nil, 0o666); err != nil || os.Chmod(file, 0o666) != nil {
		t.Fatal(err)
	}
	s.push(map[string]string{"w.dig": machineShell("umask 0; echo of-site-0 >mine; pwd >" + file + "; sleep 600")}, owner...)
	victim := s.start("w", "2024-01-01T00:00:00Z", owner...)
	until(t, "the other site's command runs", func() bool { text, _ := os.ReadFile(file); return len(text) > 0 })
	s.push(map[string]string{"w.dig": machineShell(`id -u; cat "$(cat ` + file + `)/mine" && echo RE""AD; ls "$(cat ` + file + `)" && echo RE""AD
for f in zerodag.db zerodag.db-wal secret.key logs blobs; do head -c 20 ` + s.data() + `/$f && echo RE""AD $f; done; ls ` + s.data() + ` && echo RE""AD
cat /proc/$PPID/environ && echo RE""AD; kill -0 $PPID && echo RE""AD; for p in $(ps -e -o pid=); do kill $p; done 2>/dev/null; true`)}, hostile...)
	attempt := s.start("w", "2024-01-01T00:00:00Z", hostile...)
	ok := s.succeeded(attempt, hostile...)
	if log := s.logs(attempt, hostile...); !strings.Contains(log, "70007\n") || strings.Contains(log, "READ") || strings.Contains(log, "of-site-0") || strings.Count(log, "ermi") < 9 {
		t.Errorf("succeeded %v:\n%s", ok, log)
	}
	if done := s.call(http.MethodGet, "/api/attempts/"+victim, nil, owner...).object(t)["done"]; done != false {
		t.Errorf("the other site's attempt is done: %v", done)
	}
	s.call(http.MethodPost, "/api/attempts/"+victim+"/kill", nil, owner...)
	s.succeeded(victim, owner...)
}

// TestH3_NobodyPreparesTheFolderOfWorkspaces checks that other users cannot predict the names of workspaces, that a
// squatted name does not stop a server, and that a folder of another user or the target of a link is neither deleted
// nor used.
func TestH3_NobodyPreparesTheFolderOfWorkspaces(t *testing.T) {
	t.Parallel()
	asRoot(t)
	shared := t.TempDir()
	for f := shared; f != "/tmp" && f != "/" && f != os.TempDir(); f = filepath.Dir(f) {
		os.Chmod(f, 0o755)
	}
	if err := os.Chmod(shared, 0o1777); err != nil {
		t.Fatal(err)
	}
	precious := t.TempDir()
	os.WriteFile(filepath.Join(precious, "lock"), []byte("mine"), 0o600)
	as := func(script string) {
		c := exec.Command("/bin/sh", "-c", "cd "+shared+"; "+script)
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	as("mkdir -m 777 zerodag-aaaaaaaaaaaaaaaa; touch zerodag-aaaaaaaaaaaaaaaa/lock; ln -s " + precious + " zerodag-bbbbbbbbbbbbbbbb; touch zerodag-cccccccccccccccc")
	for _, options := range [][]string{{"-X", "tmpdir=" + shared}, {"-X", "tmpdir=" + shared, "-X", "agent.command_executor.process.user=nobody"}} {
		s := prepare(t, options...)
		s.boot()
		ok, log := s.run("p", machineShell("pwd"))
		if !ok || strings.Contains(log, "aaaaaaaa") || strings.Contains(log, "bbbbbbbb") {
			t.Errorf("%v:\n%s", ok, log)
		}
		entries, _ := filepath.Glob(shared + "/zerodag-*")
		if len(entries) != 4 {
			t.Fatalf("there are %v", entries)
		}
		for _, e := range entries {
			info, err := os.Lstat(e)
			if err == nil && info.IsDir() && !strings.Contains(e, "aaaa") && (info.Mode().Perm()&0o066 != 0 || info.Sys().(*syscall.Stat_t).Uid != 0) {
				t.Errorf("the workspace folder is %v", info.Mode())
			}
		}
		s.kill()
	}
	s := prepare(t, "-X", "tmpdir="+shared)
	s.boot() // deletes only the leftovers of the killed servers
	if entries, _ := filepath.Glob(shared + "/zerodag-*"); len(entries) != 4 {
		t.Errorf("there are %v", entries)
	}
	s.stop()
	if entries, _ := filepath.Glob(shared + "/zerodag-*"); len(entries) != 3 {
		t.Errorf("after the end there are %v", entries)
	}
	if _, err := os.Stat(filepath.Join(precious, "lock")); err != nil {
		t.Error(err)
	}
}

// TestM7_NoSecretStaysInFiles checks that no file of the server contains a secret from a command's script, either after
// a task or after a crash and the next start.
func TestM7_NoSecretStaysInFiles(t *testing.T) {
	t.Parallel()
	const value = "Zq9-very-secret-value"
	s := prepare(t)
	s.env = []string{"TMPDIR=" + t.TempDir()}
	s.boot()
	if ok, log := s.run("p", "+a:\n  sh>: 'true'\n"); !ok {
		t.Fatal(log)
	}
	if status, text := s.send("PUT", "/api/projects/1/secrets/db.password", "application/json", []byte(`{"value":"`+value+`"}`), nil); status != 200 {
		t.Fatal(text)
	}
	found := func() string {
		out, _ := exec.Command("grep", "-rlaF", value, s.data(), s.env[0][len("TMPDIR="):]).Output()
		return string(out)
	}
	script := "+a:\n  sh>: 'test \"${secret:db.password}\" = " + value[:3] + "\"\"" + value[3:] + "'\n"
	if ok, log := s.run("p", script); !ok {
		t.Fatal(log)
	}
	if list := found(); list != "" {
		t.Errorf("after the task it is in %s", list)
	}
	s.beginMain("p", "+a:\n  sh>: 'echo ${secret:db.password} >/dev/null; sleep 600'\n")
	until(t, "the script is there", func() bool { return found() != "" })
	s.kill()
	s.options = append(s.options, "--disable-local-agent")
	s.boot()
	if list := found(); list != "" {
		t.Errorf("after a crash and a start it is in %s", list)
	}
}

// TestL9_ADamagedDatabaseIsRefused checks that a server does not start with a database that has damaged pages, and
// shows a remedy.
func TestL9_ADamagedDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	s := prepare(t)
	s.boot()
	for range 5 {
		if ok, log := s.run("p", "+a:\n  echo>: "+strings.Repeat("x", 2000)+"\n"); !ok {
			t.Fatal(log)
		}
	}
	s.stop()
	file := filepath.Join(s.data(), "zerodag.db")
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	for at := int64(3 * 4096); at < info.Size(); at += 2 * 4096 {
		f.WriteAt([]byte(strings.Repeat("damage", 600)), at)
	}
	f.Close()
	if err := s.tryBoot(); err == nil || !strings.Contains(err.Error(), "damaged") && !strings.Contains(err.Error(), "malformed") {
		t.Errorf("got %v", err)
	}
}
