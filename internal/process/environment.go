package process

import (
	"os"
	"strings"

	"zerodag/internal/lineage"
)

// environment is the host's, then what belongs to the run; of one name the last counts.
func (d *Driver) environment(mark, dir string, own []string) []string {
	if around := os.Getenv(markName); around != "" {
		mark = around + "," + mark
	}
	theirs := d.given(os.Environ())
	env := append(theirs, "PWD="+dir)
	if u := d.options.User; u != nil {
		env = append(env, "HOME="+u.Home, "USER="+u.Name, "LOGNAME="+u.Name)
	}
	env = append(append(env, own...), markName+"="+mark)
	last := make(map[string]int, len(env))
	for i, pair := range env {
		name, _, _ := strings.Cut(pair, "=")
		last[name] = i
	}
	kept := env[:0]
	for i, pair := range env {
		name, _, found := strings.Cut(pair, "=")
		if found && last[name] == i {
			kept = append(kept, pair)
		}
	}
	return kept
}

// given keeps those of this program's variables that commands have.
func (d *Driver) given(all []string) []string {
	kept := all[:0]
	for _, pair := range all {
		name, _, _ := strings.Cut(pair, "=")
		if d.options.Environment.Gives(name) && !(d.options.User != nil && isOurs(name)) {
			kept = append(kept, pair)
		}
	}
	return kept
}

// isOurs says whether a variable is about this program or its user, which another user has no
// use for.
func isOurs(name string) bool {
	return !lineage.NotOwn.Gives(name) || strings.HasPrefix(name, "DIGDAG_") || strings.HasPrefix(name, "SUDO_") || name == "XDG_CONFIG_HOME"
}
