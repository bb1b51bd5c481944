package client

import (
	"cmp"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"zerodag/integration/server"
	"zerodag/integration/stack"
)

// projects returns the two revisions that the Java program pushes, without commands if the server runs none.
func projects(commands bool) map[string]map[string]string {
	two := map[string]string{
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
	}
	if !commands {
		two["main.dig"] = "+hello:\n  echo>: hello ${who}\n+secret:\n  echo>: x\n+store:\n  echo>: stored\n"
		two["flaky.dig"] = strings.Replace(two["flaky.dig"], "sh>: echo before", "echo>: before", 1)
		two["long.dig"] = "+sleep:\n  wait>: 60s\n"
	}
	return map[string]map[string]string{"two.tar.gz": two,
		"one.tar.gz": {
			"main.dig":  "+hello:\n  echo>: old\n",
			"flaky.dig": "+x:\n  echo>: old\n",
			"long.dig":  "+x:\n  echo>: old\n",
			"daily.dig": daily,
		},
	}
}

const daily = "timezone: Asia/Tokyo\nschedule:\n  daily>: 07:00:00\n+x:\n  echo>: ${session_time}\n"

// TestDigdagClient checks that Digdag's client library can do the same with this server as with Digdag's.
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
	place, deployed := stack.Find()
	for name, files := range projects(place.Commands) {
		if err := os.WriteFile(filepath.Join(folder, name), server.Pack(files), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	classes := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "javac", "-proc:none", "-nowarn", "-cp", "lib/*", "-d", classes, "Drive.java").CombinedOutput(); err != nil {
		t.Fatalf("javac: %v\n%s", err, out)
	}
	arguments, log := []string{folder, strconv.FormatBool(place.Commands)}, func() string { return "see that of its functions" }
	if deployed {
		arguments = append(arguments, place.SiteToken(t, stack.FreshSite(), "admin"))
	} else {
		srv := server.New(t, server.Build(t))
		srv.Start()
		place.URL, log = srv.URL(), srv.Log
	}
	host, port := address(t, place.URL)
	arguments = append([]string{"-cp", classes + string(filepath.ListSeparator) + "lib/*", "Drive", host, port}, arguments...)
	out, err := exec.CommandContext(t.Context(), "java", arguments...).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "all parts passed") {
		t.Fatalf("%v\n%s\nlog of the server:\n%s", err, out, log())
	}
	t.Logf("%s", out)
}

// address returns the parts of a URL that Digdag's client uses.
func address(t *testing.T, server string) (host, port string) {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	if u.Scheme == "https" {
		return u.Hostname(), cmp.Or(u.Port(), "443")
	}
	return u.Hostname(), u.Port()
}

// missing describes a missing requirement, or returns "" if there is none.
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
