// Package client drives a real server with Digdag's own Java client library, so that
// programs which use it keep working. `make tools` installs what it needs: a JDK, Maven
// and the library. It must not know our own client.
package client

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"zerodag/integration/durability"
)

// projects are the two revisions that the Java program pushes.
var projects = map[string]map[string]string{
	"one.tar.gz": {
		"main.dig":  "+hello:\n  echo>: old\n",
		"flaky.dig": "+x:\n  echo>: old\n",
		"long.dig":  "+x:\n  echo>: old\n",
		"daily.dig": daily,
	},
	"two.tar.gz": {
		"main.dig": `+hello:
  sh>: echo "hello ${who}"
+secret:
  _env: {KEY: "${secret:driven.key}"}
  sh>: echo "$KEY"
+store:
  echo>: stored
`,
		"flaky.dig": `+before:
  sh>: echo before
+sometimes:
  if>: ${fail}
  _do:
    fail>: as asked
`,
		"long.dig":  "+sleep:\n  sh>: sleep 60\n",
		"daily.dig": daily,
		"extra.dig": "+x:\n  echo>: x\n",
	},
}

const daily = "timezone: Asia/Tokyo\nschedule:\n  daily>: 07:00:00\n+x:\n  echo>: ${session_time}\n"

// TestDigdagClient proves that Digdag's client library can do with this server whatever it
// does with Digdag's.
func TestDigdagClient(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("NOT RUN: short")
	}
	if what := missing(); what != "" {
		if strings.Contains(os.Getenv("REQUIRE"), "client") {
			t.Fatalf("%s: run `make tools`", what)
		}
		t.Skipf("NOT RUN: %s: run `make tools`", what)
	}
	folder := t.TempDir()
	for name, files := range projects {
		if err := os.WriteFile(filepath.Join(folder, name), durability.Pack(files), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	classes := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "javac", "-proc:none", "-nowarn", "-cp", "lib/*", "-d", classes, "Drive.java").CombinedOutput(); err != nil {
		t.Fatalf("javac: %v\n%s", err, out)
	}
	server := durability.NewServer(t, durability.Build(t))
	server.Start()
	host, port, err := net.SplitHostPort(strings.TrimPrefix(server.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "java", "-cp", classes+string(filepath.ListSeparator)+"lib/*", "Drive", host, port, folder).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "all parts passed") {
		t.Fatalf("%v\n%s\nserver:\n%s", err, out, server.Log())
	}
	t.Logf("%s", out)
}

// missing says what is not there.
func missing() string {
	for _, program := range []string{"java", "javac"} {
		if _, err := exec.LookPath(program); err != nil {
			return "no " + program + " on this machine"
		}
	}
	if jars, _ := filepath.Glob("lib/digdag-client-*.jar"); len(jars) == 0 {
		return "Digdag's client library is not in integration/client/lib"
	}
	return ""
}
