package docker

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"zerodag/engine/param"
	"zerodag/internal/lineage"
)

// arguments returns the command line that runs the command; envFile may be "". It contains no variable values, because
// every user of the machine can read it.
func (r *run) arguments(image string, names []string, envFile string) []string {
	s, limit := r.settings, r.command.Sandbox
	args := append([]string{"run"}, s.runOptions...)
	args = append(args, "--name", r.name, "--label", label+"="+r.driver.name, "--init")
	if !s.ownUser() {
		args = append(args, user(s.program)...)
	}
	if r.driver.options.NoOptions { // the authors of commands do not trust each other
		args = append(args, "--cap-drop", "ALL", "--security-opt", "no-new-privileges")
		limit.CPU = cmp.Or(limit.CPU, 1)
	}
	if limit.CPU > 0 {
		args = append(args, "--cpus", strconv.FormatFloat(limit.CPU, 'f', -1, 64))
	}
	if limit.Memory > 0 { // without swap, which does not count as memory
		bytes := strconv.FormatInt(limit.Memory, 10)
		args = append(args, "--memory", bytes, "--memory-swap", bytes)
	}
	if !s.has("--pids-limit") || limit.Processes > 0 {
		args = append(args, "--pids-limit", strconv.Itoa(r.processes()))
	}
	args = append(args, volume(r.root, s.selinux)...)
	for _, name := range r.hidden {
		args = append(args, "--mount", `type=tmpfs,"target=`+strings.ReplaceAll(path.Join(r.root, name), `"`, `""`)+`"`)
	}
	args = append(args, "-w", workdir(r.root, r.command.Dir))
	if envFile != "" {
		args = append(args, "--env-file", envFile)
	}
	for _, name := range names {
		args = append(args, "-e", name)
	}
	return append(append(args, image), r.command.Args...)
}

func (r *run) processes() int {
	if n := r.command.Sandbox.Processes; n > 0 {
		return n
	}
	return mostProcesses
}

// user returns options that make the files that the command writes belong to the user who runs this program. In
// rootless podman, root in the container already is that user, and other users are not.
func user(program string) []string {
	if filepath.Base(program) == "podman" && os.Getuid() != 0 {
		return []string{"--userns=keep-id"}
	}
	return []string{"--user", fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid())}
}

// volume returns the option that mounts the project's folder into the container under the same path.
func volume(root string, selinux bool) []string {
	if strings.ContainsAny(root, ":") { // -v treats it as the end of the path
		return []string{"--mount", `type=bind,"source=` + strings.ReplaceAll(root, `"`, `""`) + `","target=` + strings.ReplaceAll(root, `"`, `""`) + `"`}
	}
	flags := "rw"
	if selinux {
		flags += ",Z"
	}
	return []string{"-v", root + ":" + root + ":" + flags}
}

// variables splits the command's variables into the names of variables that the client passes on from its environment,
// that environment, and the lines of a file for variables that would affect the client.
func variables(env []string) (names, client, lines []string, err error) {
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); lineage.NotOwn.Gives(name) {
			client = append(client, pair)
		}
	}
	last := map[string]string{}
	var order []string
	for _, pair := range env {
		name, value, found := strings.Cut(pair, "=")
		if !found {
			continue
		}
		if _, again := last[name]; !again {
			order = append(order, name)
		}
		last[name] = value
	}
	for _, name := range order {
		pair := name + "=" + last[name]
		if !changesClient(name) {
			names, client = append(names, name), append(client, pair)
			continue
		}
		if strings.ContainsAny(pair, "\n\r") || len(pair) > 60<<10 {
			return nil, nil, nil, param.Errorf("docker: the variable %s must be one line of at most 60 KB: rename the variable", name)
		}
		lines = append(lines, pair)
	}
	return names, client, lines, nil
}

// changesClient reports whether the client itself may read a variable.
func changesClient(name string) bool {
	for _, start := range []string{"DOCKER_", "BUILDKIT_", "BUILDX_", "COMPOSE_", "CONTAINER", "PODMAN_", "XDG_", "LD_", "GO", "SSL_", "SSH_", "OTEL_", "DBUS_", "NO_"} {
		if strings.HasPrefix(name, start) {
			return true
		}
	}
	return slices.Contains([]string{"PATH", "HOME", "USER", "TMPDIR", "TERM", "TZ"}, name) || strings.HasSuffix(strings.ToUpper(name), "_PROXY")
}

// fileOfVariables writes lines to a file that only this user can read; the file is outside the project.
func fileOfVariables(lines []string) (name string, err error) {
	f, err := os.CreateTemp("", "zerodag-env-")
	if err != nil {
		return "", fmt.Errorf("write the variables of a command: %w", err)
	}
	_, err = f.WriteString(strings.Join(lines, "\n") + "\n")
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		os.Remove(f.Name())
		return "", fmt.Errorf("write the variables of a command: %w", err)
	}
	return f.Name(), nil
}

// dockerfile returns the Dockerfile from which an image is built.
func dockerfile(image string, build []string) string {
	var b strings.Builder
	b.WriteString("FROM " + image + "\n")
	for _, item := range build {
		for line := range strings.Lines(item) {
			if line = strings.TrimRight(line, "\r\n"); line != "" {
				b.WriteString("RUN " + line + "\n")
			}
		}
	}
	return b.String()
}

// dockerfileName returns the path of the Dockerfile, as in Digdag: next to the command's scratch folder.
func (r *run) dockerfileName() string {
	return path.Join(path.Dir(r.command.Scratch), "docker", "Dockerfile."+strings.ReplaceAll(r.image, ":", "."))
}
