package docker

import (
	"slices"
	"strings"

	"zerodag/engine/param"
	"zerodag/operators"
)

// settings holds the values of a task's `docker:` (commands.md#docker).
type settings struct {
	image        string
	program      string
	runOptions   []string
	pullAlways   bool
	selinux      bool
	build        []string
	buildOptions []string
}

// programs lists the programs that a task may name without permission to pass docker options.
var programs = []string{"docker", "podman"} // never changed

func (d *Driver) read(tree *param.Map) (s settings, err error) {
	if tree == nil {
		tree = param.New()
	}
	p := operators.NewParams(tree)
	if s.image, err = p.String("image"); err != nil {
		return s, param.Errorf("docker: no image is set: name one (docker: {image: …})")
	}
	if s.program, err = p.StringOr("docker", "docker"); err != nil {
		return s, err
	}
	if s.runOptions, err = operators.ReadOr(p, "run_options", operators.ListOf, nil); err != nil {
		return s, err
	}
	if s.pullAlways, err = p.BoolOr("pull_always", false); err != nil {
		return s, err
	}
	if s.selinux, err = p.BoolOr("selinux", false); err != nil {
		return s, err
	}
	if s.build, err = operators.ReadOr(p, "build", operators.ListOf, nil); err != nil {
		return s, err
	}
	if s.buildOptions, err = operators.ReadOr(p, "build_options", operators.ListOf, nil); err != nil {
		return s, err
	}
	return s, d.check(s)
}

// check refuses settings that would be misinterpreted, or that allow escaping from the container if that is forbidden.
func (d *Driver) check(s settings) error {
	if s.image == "" || strings.HasPrefix(s.image, "-") || strings.ContainsAny(s.image, " \t\r\n") {
		return param.Errorf("docker: %q is not a valid image name", s.image)
	}
	if strings.HasPrefix(s.program, "-") || s.program == "" {
		return param.Errorf("docker: %q is not a valid program name", s.program)
	}
	if !d.options.NoOptions {
		return nil
	}
	if !slices.Contains(programs, s.program) {
		return param.Errorf("docker: docker must be %s here, not %q: this server runs commands in containers only", strings.Join(programs, " or "), s.program)
	}
	if len(s.runOptions)+len(s.buildOptions) > 0 {
		return param.Errorf("docker: run_options and build_options are not allowed here: this server runs commands in containers only (agent.command_executor.docker.options = true allows them)")
	}
	return nil
}

// has reports whether the task's own options include one of the given names.
func (s settings) has(names ...string) bool {
	return slices.ContainsFunc(s.runOptions, func(option string) bool {
		name, _, _ := strings.Cut(option, "=")
		return slices.Contains(names, name) || len(names) > 0 && strings.HasPrefix(option, "-u") && slices.Contains(names, "-u") && !strings.HasPrefix(option, "--")
	})
}

// ownUser reports whether the task chooses the user itself.
func (s settings) ownUser() bool { return s.has("--user", "-u") }
