package executors_test

import (
	"os"
	"strings"
	"testing"

	"zerodag/engine/param"
	"zerodag/internal/docker/dockertest"
	"zerodag/internal/executors"
	"zerodag/operators"
)

func TestMain(m *testing.M) {
	dockertest.Main()
	os.Exit(m.Run())
}

func image(name, program string) *param.Map {
	m := param.New()
	if name != "" {
		m.Set("image", name)
	}
	m.Set("docker", program)
	return m
}

// TestChoice proves that the executor that a task names takes precedence, then its image, then the server's setting.
func TestChoice(t *testing.T) {
	f := dockertest.New(t)
	t.Setenv("PATH", strings.TrimSuffix(f.Program(), "docker")+":"+os.Getenv("PATH"))
	const processes, containers = "process", "docker run"
	inDocker := executors.Settings{Default: operators.InDocker, Image: "default:1"}
	only := executors.Settings{Allow: []string{operators.InDocker}, Image: "default:1"}
	none := executors.Settings{}
	named := image("task:1", "docker")
	for _, c := range []struct {
		settings executors.Settings
		sandbox  operators.Sandbox
		want     string
	}{
		{none, operators.Sandbox{}, processes},
		{none, operators.Sandbox{Docker: named}, containers + " task:1"},
		{none, operators.Sandbox{Docker: named, Executor: operators.InProcess}, processes},
		{none, operators.Sandbox{Executor: operators.InDocker}, "docker: no image is set"},
		{none, operators.Sandbox{Executor: operators.OnFargate}, "executor fargate is not on this machine: it has process and docker"},
		{none, operators.Sandbox{Role: "r"}, "role has no effect on this machine"},
		{inDocker, operators.Sandbox{}, containers + " default:1"},
		{inDocker, operators.Sandbox{Docker: named}, containers + " task:1"},
		{inDocker, operators.Sandbox{Docker: image("", "docker")}, containers + " default:1"},
		{inDocker, operators.Sandbox{Executor: operators.InProcess}, processes},
		{only, operators.Sandbox{}, containers + " default:1"},
		{only, operators.Sandbox{Executor: operators.InProcess}, "executor process is not allowed on this server: it has docker"},
		{only, operators.Sandbox{Docker: image("x", f.Program())}, "docker must be docker or podman here"},
	} {
		os.Remove(strings.TrimSuffix(f.Program(), "docker") + "calls")
		e, err := executors.New(c.settings)
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.In(t.TempDir(), operators.Identity{}).Run(t.Context(), operators.Command{Args: []string{"/bin/true"}, Sandbox: c.sandbox})
		got := processes
		if err != nil {
			got = err.Error()
		} else if text, err := os.ReadFile(strings.TrimSuffix(f.Program(), "docker") + "calls"); err == nil {
			got = containers + string(text)
		}
		head, tail, _ := strings.Cut(c.want, " run ")
		if !strings.Contains(got, head) || !strings.Contains(got, tail) {
			t.Errorf("%+v, %+v: got %s, want %s", c.settings, c.sandbox, got, c.want)
		}
	}
}

func TestDefaultLimits(t *testing.T) {
	t.Parallel()
	e, err := executors.New(executors.Settings{Limits: executors.Limits{Output: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	for own, want := range map[int64]string{0: operators.TooMuchOutput(1000), 4000: ""} {
		exit, err := e.In(t.TempDir(), operators.Identity{}).Run(t.Context(),
			operators.Command{Args: []string{"/bin/sh", "-c", "head -c 3000 /dev/zero"}, Sandbox: operators.Sandbox{Output: own}})
		if err != nil || exit.Why != want {
			t.Errorf("task's own %d: got %+v, %v", own, exit, err)
		}
	}
}

func TestWrongSettings(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]executors.Settings{
		`"fargate": use process, docker`:                   {Allow: []string{"fargate"}},
		"process, which agent.command_executor.allow does": {Default: operators.InProcess, Allow: []string{operators.InDocker}},
		"agent.command_executor.process.user":              {User: "root"},
	} {
		if _, err := executors.New(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %q", s, err, want)
		}
	}
}

// TestReclaim proves that a command in docker begins only when the containers of an earlier program are gone.
func TestReclaim(t *testing.T) {
	f := dockertest.New(t)
	t.Setenv("PATH", strings.TrimSuffix(f.Program(), "docker")+":"+os.Getenv("PATH"))
	f.Leave(t, "zerodag-old")
	e, err := executors.New(executors.Settings{Name: "n", Image: "i", Default: operators.InDocker})
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan int, 1)
	e.Reclaim(t.Context(), func(n int, err error) {
		if err != nil {
			t.Error(err)
		}
		told <- n
	})
	if _, err := e.In(t.TempDir(), operators.Identity{}).Run(t.Context(), operators.Command{Args: []string{"/bin/true"}}); err != nil {
		t.Fatal(err)
	}
	select {
	case n := <-told:
		if n != 1 || len(f.Containers()) > 0 {
			t.Errorf("%d containers were removed, left are %v", n, f.Containers())
		}
	default:
		t.Error("the command did not wait")
	}
}
