package docker_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/internal/docker"
	"zerodag/internal/docker/dockertest"
	"zerodag/internal/executors/executorstest"
	"zerodag/operators"
)

func TestMain(m *testing.M) {
	dockertest.Main()
	os.Exit(m.Run())
}

func tree(t *testing.T, text string) *param.Map {
	t.Helper()
	v, err := param.ParseJSON(text)
	m, isMap := v.(*param.Map)
	if err != nil || !isMap {
		t.Fatalf("%s: %v", text, err)
	}
	return m
}

// options returns the value of `docker:` with a program and an image.
func options(t *testing.T, program, text string) *param.Map {
	t.Helper()
	m := tree(t, text)
	m.Set("docker", program)
	if !m.Has("image") {
		m.Set("image", "img:1")
	}
	return m
}

func TestSuite(t *testing.T) {
	t.Parallel()
	f := dockertest.New(t)
	d := docker.New(docker.Options{Grace: 200 * time.Millisecond})
	t.Run("suite", func(t *testing.T) {
		executorstest.Exercise(t, executorstest.Subject{Sandbox: operators.Sandbox{Docker: options(t, f.Program(), `{}`)},
			In: func(root string) operators.Commands { return d.In(root, docker.Project{ID: 1}) }})
	})
	if left := f.Containers(); len(left) > 0 {
		t.Errorf("containers are left: %v", left)
	}
}

// TestCommandLines proves that docker is called with exactly the right command lines.
func TestCommandLines(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		docker  string
		sandbox operators.Sandbox
		want    []string
	}{
		"plain": {`{}`, operators.Sandbox{}, []string{
			`run --name NAME --label zerodag.driver=d --init --user USER --pids-limit 1024 -v ROOT:ROOT:rw -w ROOT/sub -e A img:1 true x`, `rm -f -v NAME`}},
		"limits": {`{}`, operators.Sandbox{CPU: 0.5, Memory: 64 << 20, Processes: 20, Time: time.Minute}, []string{
			`image inspect --format {{.Id}} img:1`,
			`run --name NAME --label zerodag.driver=d --init --user USER --cpus 0.5 --memory 67108864 --memory-swap 67108864 --pids-limit 20 -v ROOT:ROOT:rw -w ROOT/sub -e A img:1 true x`, `rm -f -v NAME`}},
		"options": {`{"run_options": ["-u", "5", "--network=none"], "selinux": true, "pull_always": true}`, operators.Sandbox{}, []string{
			`pull img:1`,
			`run -u 5 --network=none --name NAME --label zerodag.driver=d --init --pids-limit 1024 -v ROOT:ROOT:rw,Z -w ROOT/sub -e A img:1 true x`, `rm -f -v NAME`}},
		"build": {`{"build": ["echo a\necho b", "echo c"], "build_options": ["--no-cache"], "pull_always": true}`, operators.Sandbox{}, []string{
			`images -q ` + built, `build --no-cache -f .zerodag/tmp/docker/Dockerfile.` + strings.ReplaceAll(built, ":", ".") + ` --force-rm -t ` + built + ` ROOT`,
			`run --name NAME --label zerodag.driver=d --init --user USER --pids-limit 1024 -v ROOT:ROOT:rw -w ROOT/sub -e A ` + built + ` true x`, `rm -f -v NAME`}},
	} {
		f, root := dockertest.New(t), t.TempDir()
		if err := os.Mkdir(root+"/sub", 0o755); err != nil {
			t.Fatal(err)
		}
		c.sandbox.Docker = options(t, f.Program(), c.docker)
		command := operators.Command{Args: []string{"true", "x"}, Dir: "sub", Scratch: ".zerodag/tmp/x", Env: []string{"A=secret"}, Sandbox: c.sandbox}
		if exit, err := docker.New(docker.Options{Name: "d"}).In(root, docker.Project{ID: 7, Revision: "r"}).Run(t.Context(), command); err != nil || exit.Code != 0 {
			t.Fatalf("%s: %+v, %v", name, exit, err)
		}
		if diff := cmp.Diff(c.want, normal(f.Calls(t)[1:], root)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if name == "build" {
			text, err := os.ReadFile(root + "/.zerodag/tmp/docker/Dockerfile." + strings.ReplaceAll(built, ":", "."))
			if want := "FROM img:1\nRUN echo a\nRUN echo b\nRUN echo c\n"; err != nil || string(text) != want {
				t.Errorf("Dockerfile: %q, %v", text, err)
			}
		}
	}
}

// built is digdag-project-<id>:<sha1 of {"image":"img:1","build":[...],"revision":"r"}>.
const built = "digdag-project-7:83fed6d3d50af06efe9a9f509b3f6db5877f760a"

// normal normalizes command lines so that they can be compared.
func normal(calls []string, root string) []string {
	var list []string
	for _, c := range calls {
		c = strings.NewReplacer(`\n`, " ", `"`, "", "[", "", "]", "").Replace(c)
		words := strings.Split(strings.ReplaceAll(c, root, "ROOT"), " ")
		for i, w := range words {
			switch {
			case strings.HasPrefix(w, "zerodag-") && len(w) == len("zerodag-")+26:
				words[i] = "NAME"
			case i > 0 && words[i-1] == "--user":
				words[i] = "USER"
			}
		}
		list = append(list, strings.Join(words, " "))
	}
	return list
}

// TestEngineTroubles proves that engine errors are reported with their cause.
func TestEngineTroubles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		word, text, state, want string
		code                    int
	}{
		{"info", "Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?", "", "as a process: Cannot connect", 1},
		{"run", "docker: Cannot connect to the Docker daemon at unix:///x.\n\nRun 'docker run --help' for more information", "", "the docker engine cannot be reached: Cannot connect to the Docker daemon at unix:///x.", 125},
		{"run", "Unable to find image 'img:1' locally\ndocker: Error response from daemon: pull access denied for img, repository does not exist\nSee 'docker run --help'.", "", "the image img:1 cannot be pulled: pull access denied for img", 125},
		{"run", `docker: Error response from daemon: failed to create task: exec: "/bin/sh": stat /bin/sh: no such file or directory: unknown`, "false created x", "the image img:1 has no /bin/sh", 127},
		{"run", "docker: Error response from daemon: exec /bin/sh: exec format error", "false created ", "a different architecture", 126},
		{"run", "docker: Error response from daemon: Conflict.", "false created ", "docker could not run the command (code 125): Conflict.", 125},
		{"pull", "manifest unknown", "", "Docker pull failed: img:1: manifest unknown", 1},
		{"build", "The command '/bin/sh -c x' returned a non-zero code: 127", "", "Docker build failed: digdag-project-1:", 1},
	} {
		f := dockertest.New(t)
		f.Answer(t, c.word, c.text, c.code)
		if c.state != "" {
			f.State(t, c.state)
		} else if c.word == "run" {
			f.Answer(t, "inspect", "Error: No such container", 1)
		}
		text := `{"pull_always": true}`
		if c.word == "build" {
			text = `{"build": ["x"]}`
		}
		var out bytes.Buffer
		_, err := docker.New(docker.Options{}).In(t.TempDir(), docker.Project{ID: 1, Revision: "r"}).Run(t.Context(),
			operators.Command{Args: []string{"/bin/sh", "x"}, Stdout: &out, Sandbox: operators.Sandbox{Docker: options(t, f.Program(), text)}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.text, err, c.want)
		}
		if c.word != "info" && !strings.Contains(out.String(), strings.Split(c.text, "\n")[0]) {
			t.Errorf("%s: not in the log: %q", c.word, out.String())
		}
	}
}

func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	f := dockertest.New(t)
	f.State(t, "true exited ")
	exit, err := docker.New(docker.Options{}).In(t.TempDir(), docker.Project{}).Run(t.Context(),
		operators.Command{Args: []string{"/bin/sh", "-c", "kill -9 $$"}, Sandbox: operators.Sandbox{Memory: 64 << 20, Docker: options(t, f.Program(), `{}`)}})
	if err != nil || exit.Code != 137 || exit.Why != operators.OutOfMemory(64<<20) {
		t.Errorf("got %+v, %v", exit, err)
	}
}

// TestKillBeforeTheContainer proves that a command whose image is still being fetched is ended at once.
func TestKillBeforeTheContainer(t *testing.T) {
	t.Parallel()
	f := dockertest.New(t)
	f.Hang(t)
	ctx, cancel := context.WithCancel(t.Context())
	began := time.Now()
	_, err := docker.New(docker.Options{Grace: time.Minute, KillNow: true}).In(t.TempDir(), docker.Project{}).Run(ctx,
		operators.Command{Args: []string{"true"}, Stdout: writer(cancel), Sandbox: operators.Sandbox{Docker: options(t, f.Program(), `{}`)}})
	if took := time.Since(began); err != nil || took > 30*time.Second {
		t.Errorf("%v after %v", err, took)
	}
}

// writer is called for every output.
type writer func()

func (w writer) Write(p []byte) (int, error) { w(); return len(p), nil }

func TestRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"image": "--privileged"}`:                       "is not a valid image name",
		`{"image": ""}`:                                   "is not a valid image name",
		`{"image": "a", "docker": "./mine"}`:              "docker must be docker or podman here",
		`{"image": "a", "run_options": ["--privileged"]}`: "run_options and build_options are not allowed here",
		`{"docker": "docker"}`:                            "no image is set",
		`{"image": "a", "docker": "nosuchdocker"}`:        "docker must be",
	} {
		_, err := docker.New(docker.Options{NoOptions: true}).In(t.TempDir(), docker.Project{}).Run(t.Context(),
			operators.Command{Args: []string{"true"}, Sandbox: operators.Sandbox{Docker: tree(t, text)}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	_, err := docker.New(docker.Options{}).In(t.TempDir(), docker.Project{}).Run(t.Context(),
		operators.Command{Args: []string{"true"}, Sandbox: operators.Sandbox{Docker: tree(t, `{"image": "a", "docker": "nosuchdocker"}`)}})
	if err == nil || !strings.Contains(err.Error(), "no program nosuchdocker on the PATH") {
		t.Errorf("got %v", err)
	}
}

// TestReclaim proves that containers of an earlier run are removed at the next start.
func TestReclaim(t *testing.T) {
	f := dockertest.New(t)
	t.Setenv("PATH", strings.TrimSuffix(f.Program(), "/docker"))
	f.Leave(t, "zerodag-old")
	n, err := docker.New(docker.Options{Name: "d"}).Reclaim(t.Context())
	if want := `["ps" "-a" "-q" "--filter" "label=zerodag.driver=d"]`; n != 1 || err != nil || len(f.Containers()) > 0 || f.Calls(t)[1] != want {
		t.Errorf("%d, %v, %v, %v", n, err, f.Containers(), f.Calls(t))
	}
}

// TestRealClient proves that docker's own program understands the command line, up to the point where it does not find
// an engine.
func TestRealClient(t *testing.T) {
	t.Parallel()
	program := realDocker(t)
	d, root := docker.New(docker.Options{}), t.TempDir()
	args := docker.Arguments(d, root, tree(t, `{"image": "img", "selinux": true}`), operators.Sandbox{CPU: 0.5, Memory: 64 << 20, Processes: 20})
	for _, a := range [][]string{args, {"rm", "-f", "-v", "x"}, {"kill", "--signal", "TERM", "x"}, {"top", "x"}, {"images", "-q", "x"},
		{"inspect", "--type", "container", "--format", "{{.State.OOMKilled}}", "x"}, {"ps", "-a", "-q", "--filter", "label=a=b"}, {"image", "inspect", "--format", "{{.Id}}", "x"}} {
		x := exec.Command(program, a...)
		x.Env = append(os.Environ(), "DOCKER_HOST=tcp://127.0.0.1:1")
		out, err := x.CombinedOutput()
		if err == nil || !strings.Contains(strings.ToLower(string(out)), "cannot connect") {
			t.Errorf("%v: %v: %s", a, err, out)
		}
	}
}

func realDocker(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("docker")
	if err != nil {
		missing(t, "docker is not on the PATH")
	}
	return program
}

func missing(t *testing.T, what string) {
	t.Helper()
	if strings.Contains(os.Getenv("REQUIRE"), "docker") {
		t.Fatal(what + ", and REQUIRE names docker")
	}
	t.Skip("NOT RUN: " + what)
}
