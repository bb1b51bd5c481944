// Package placement decides where a command runs: in the executor that its task names, else where its image can run,
// else in the default executor of the deployment.
//
// The wiring of each deployment makes a Table. It must never run anything.
package placement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"zerodag/engine/param"
	"zerodag/operators"
)

// Table is what a deployment has to run commands in.
type Table struct {
	// Place names the deployment in errors: "on this machine", "in this deployment".
	Place string
	// Known are the executors of such a deployment, Allowed the executors of this one.
	Known, Allowed []string
	// Default is the executor of commands that name none.
	Default string
	// Machines is the executor of commands with an image, a size or a role but without an executor; "" is Default.
	Machines string
	// Hints explain what to do about an executor that is not allowed, by its name.
	Hints map[string]string
	// NoRoles: commands cannot be given a role of AWS here.
	NoRoles bool
}

// Choose returns the executor of a command, or what its task has to change.
func (t Table) Choose(s operators.Sandbox) (string, error) {
	name := s.Executor
	if name == "" && s.Docker != nil && slices.Contains(t.Known, operators.InDocker) {
		name = operators.InDocker
	}
	if name == "" && asksForMachine(s) {
		name = t.Machines
	}
	name = cmp.Or(name, t.Default)
	if !slices.Contains(t.Known, name) {
		return "", param.Errorf("sandbox: executor %s is not %s: it has %s%s", name, t.Place, strings.Join(t.Allowed, " and "), t.hint(name))
	}
	if !slices.Contains(t.Allowed, name) {
		return "", param.Errorf("sandbox: executor %s is not allowed on this server: it has %s%s", name, strings.Join(t.Allowed, " and "), t.hint(name))
	}
	if s.Role != "" && t.NoRoles {
		return "", param.Errorf("sandbox: role has no effect %s: commands get credentials only from their variables and secrets", t.Place)
	}
	return name, nil
}

// asksForMachine reports whether a command has settings that only some executors support.
func asksForMachine(s operators.Sandbox) bool {
	return s.Docker != nil || s.CPU > 0 || s.Memory > 0 || s.Disk > 0 || s.Role != "" || s.Spot
}

func (t Table) hint(name string) string {
	if h := t.Hints[name]; h != "" {
		return fmt.Sprintf(" (%s)", h)
	}
	return ""
}
