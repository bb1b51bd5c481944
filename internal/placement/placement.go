// Package placement decides where a command runs: in the executor that its task names, otherwise in one that can run
// its image, otherwise in the default executor of the deployment.
//
// The wiring of each deployment creates a Table. The package must never run anything.
package placement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"zerodag/engine/param"
	"zerodag/operators"
)

// Table holds the executors in which a deployment can run commands.
type Table struct {
	// Place names the deployment in errors: "on this machine", "in this deployment".
	Place string
	// Known lists the executors of this kind of deployment, and Allowed lists the executors of this one.
	Known, Allowed []string
	// Default is the executor of commands that name none.
	Default string
	// Machines is the executor of commands that specify an image, a size or a role but no executor; "" means Default.
	Machines string
	// Hints explains, by executor name, what to do if an executor is not allowed.
	Hints map[string]string
	// NoRoles means that commands cannot be given an AWS role here.
	NoRoles bool
}

// Choose returns the executor of a command, or an error that explains what to change in the task.
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
