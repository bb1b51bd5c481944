package process

import (
	"cmp"
	"strings"

	"zerodag/internal/lineage"
)

// environment returns the host's variables, then the run's; if a name is repeated, the last one counts.
func (c commands) environment(mark, dir string, own []string) []string {
	theirs := c.driver.theirs()
	if c.user != nil {
		theirs = c.driver.foreign()
	}
	if theirs.mark != "" {
		mark = theirs.mark + "," + mark
	}
	all := append(make([]string, 0, len(own)+5), "PWD="+dir)
	switch u := c.user; {
	case u != nil:
		all = append(all, "HOME="+cmp.Or(u.Home, c.root), "USER="+u.Name, "LOGNAME="+u.Name)
	case c.driver.noHome:
		all = append(all, "HOME="+c.root)
	}
	all = append(append(all, own...), markName+"="+mark)
	last := make(map[string]int, len(all))
	for i, pair := range all {
		name, _, _ := strings.Cut(pair, "=")
		last[name] = i
	}
	env := make([]string, 0, len(theirs.pairs)+len(all))
	for i, name := range theirs.names {
		if _, again := last[name]; !again {
			env = append(env, theirs.pairs[i])
		}
	}
	for i, pair := range all {
		name, _, found := strings.Cut(pair, "=")
		if found && last[name] == i {
			env = append(env, pair)
		}
	}
	return env
}

// variables holds this program's variables that commands get, and the marks of the outer commands. They do not change
// while it runs.
type variables struct {
	names, pairs []string // both have the same length
	mark         string
}

// given returns the variables of this program that commands get; other means that the commands run as another user.
func (d *Driver) given(all []string, other bool) *variables {
	last := make(map[string]int, len(all))
	for i, pair := range all {
		name, _, _ := strings.Cut(pair, "=")
		last[name] = i
	}
	v := &variables{}
	for i, pair := range all {
		name, value, found := strings.Cut(pair, "=")
		if !found || last[name] != i {
			continue
		}
		if name == markName {
			v.mark = value
			continue
		}
		if d.options.Environment.Gives(name) && !(other && (isOurs(name) || name == "TMPDIR" && Usable(value) != nil)) {
			v.names, v.pairs = append(v.names, name), append(v.pairs, pair)
		}
	}
	return v
}

// isOurs reports whether a variable is about this program or its user and therefore useless to another user.
func isOurs(name string) bool {
	return !lineage.NotOwn.Gives(name) || strings.HasPrefix(name, "DIGDAG_") || strings.HasPrefix(name, "SUDO_") || name == "XDG_CONFIG_HOME"
}
