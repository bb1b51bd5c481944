package servers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"zerodag/integration/server"
	"zerodag/operators/operatortest/postgres"
)

// composed is a service in a compose file.
type composed struct {
	Command     []string
	Environment map[string]string
	Volumes     []string
	DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
	Healthcheck struct{ Test []string }
}

// TestCompose checks that the servers in the compose file work as a pair on a real PostgreSQL: each shows what the
// other accepts, the token that one of them writes works for both, and both pass the health check. Only addresses and
// folders are replaced.
func TestCompose(t *testing.T) {
	required(t)
	text, err := os.ReadFile("../../packaging/files/compose-postgres.yaml")
	if err != nil {
		t.Fatal(err)
	}
	db := postgres.StartKeeping(t)
	variables := map[string]string{"POSTGRES_PASSWORD": "any", "ZERODAG_KEY": "MDEyMzQ1Njc4OWFiY2RlZg==", "ZERODAG_IMAGE": "zerodag:snapshot"}
	full := regexp.MustCompile(`\$\{(\w+)(:[-?][^}]*)?\}`).ReplaceAllStringFunc(string(text), func(s string) string {
		value, known := variables[regexp.MustCompile(`\w+`).FindString(s)]
		if !known {
			t.Errorf("the file does not say where %s comes from", s)
		}
		return value
	})
	var file struct{ Services map[string]composed }
	if err := yaml.Unmarshal([]byte(full), &file); err != nil {
		t.Fatal(err)
	}
	program := server.Build(t)
	var urls, folders []string
	for name, s := range file.Services {
		if name == "database" {
			continue
		}
		if s.DependsOn["database"].Condition != "service_healthy" || len(file.Services["database"].Healthcheck.Test) == 0 || len(s.Volumes) != 1 || !strings.HasSuffix(s.Volumes[0], ":/var/lib/zerodag") {
			t.Errorf("%s is %+v", name, s)
		}
		folder := t.TempDir()
		url := startComposed(t, program, s, db, folder)
		urls, folders = append(urls, url), append(folders, folder)
		check := s.Healthcheck.Test
		if len(check) < 3 || check[0] != "CMD" || check[1] != "/usr/bin/zerodag" {
			t.Fatalf("the health check of %s is %q", name, check)
		}
		for i, a := range check {
			if strings.HasPrefix(a, "http://") {
				check[i] = url
			}
		}
		if out, err := exec.Command(program, check[2:]...).CombinedOutput(); err != nil {
			t.Errorf("the health check of %s: %v\n%s", name, err, out)
		}
	}
	if len(urls) != 2 {
		t.Fatalf("there are %d servers", len(urls))
	}
	token := ""
	for _, folder := range folders {
		if text, err := os.ReadFile(filepath.Join(folder, "admin.token")); err == nil {
			token = strings.TrimSpace(string(text))
		}
	}
	project := t.TempDir()
	if err := os.WriteFile(filepath.Join(project, "w.dig"), []byte("+a:\n  echo>: hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{
		{"push", "p", "--project", project, "-e", urls[0]}, {"secrets", "--project", "p", "--set", "k=v", "-e", urls[1]},
		{"start", "p", "w", "--session", "now", "--wait", "-e", urls[1]}, {"log", "1", "-e", urls[0]},
	} {
		c := exec.Command(program, append(command, "--token", token)...)
		out, err := c.CombinedOutput()
		if err != nil || command[0] == "log" && !bytes.Contains(out, []byte("hello")) {
			t.Errorf("%s: %v\n%s", command[0], err, out)
		}
	}
}

// startComposed starts a server as the compose file describes it, and returns its address.
func startComposed(t *testing.T, program string, s composed, db postgres.Server, folder string) string {
	t.Helper()
	info := filepath.Join(folder, "runtime.json")
	config := s.Environment["ZERODAG_CONFIG"]
	for from, to := range map[string]string{"database.host = database\n": "database.host = 127.0.0.1\n", "database.port = 5432\n": fmt.Sprintf("database.port = %d\n", db.Port),
		"database.database = zerodag\n": "database.database = " + postgres.Database + "\n", "database.user = zerodag\n": "database.user = " + postgres.User + "\n",
		"server.bind = 0.0.0.0\n": "server.bind = 127.0.0.1\n", "= /var/lib/zerodag\n": "= " + folder + "\n"} {
		if strings.Count(config, from) != 1 {
			t.Fatalf("%q is not in\n%s", from, config)
		}
		config = strings.Replace(config, from, to, 1)
	}
	var log bytes.Buffer
	c := exec.Command(program, append(s.Command, "-n", "0", "-X", "server.runtime-info.path="+info)...)
	c.Env, c.Stdout, c.Stderr = append(os.Environ(), "ZERODAG_CONFIG="+config, "ZERODAG_CONFIG_HOME="+folder), &log, &log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	t.Cleanup(func() {
		_ = c.Process.Kill()
		<-ended
	})
	var listening struct {
		Addresses []struct{ Port int } `json:"local_addresses"`
	}
	await(t, "a server that listens", func() bool {
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("the server ended: %v\n%s", err, &log)
		default:
		}
		text, err := os.ReadFile(info)
		return err == nil && json.Unmarshal(text, &listening) == nil && len(listening.Addresses) == 1
	})
	if strings.Contains(log.String(), "unused configuration keys") {
		t.Errorf("the server does not know all settings:\n%s", &log)
	}
	return fmt.Sprintf("http://127.0.0.1:%d", listening.Addresses[0].Port)
}
