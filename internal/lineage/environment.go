package lineage

import "strings"

// Environment selects which of this program's variables commands get, in addition to their task's variables. No other
// package decides this.
type Environment int

const (
	// Everything means all variables except the secret key. It is for the commands of `zerodag run`: they belong to the
	// user who started it, who has the variables anyway.
	Everything Environment = iota
	// NotOwn means all variables except this program's configuration, which may contain passwords and keys.
	NotOwn
	// Bare means only the variables that a program needs to find other programs and to choose its language.
	Bare
)

// Gives reports whether commands get one of this program's variables.
func (e Environment) Gives(name string) bool {
	switch e {
	case Everything:
		return name != "ZERODAG_SECRET_KEY"
	case NotOwn:
		return !isOwn(name)
	case Bare:
		return isNeeded(name)
	}
	return false
}

// isOwn reports whether this program itself reads a variable.
func isOwn(name string) bool {
	return strings.HasPrefix(name, "ZERODAG_") || strings.HasPrefix(name, "DIGDAG_CONFIG")
}

// isNeeded reports whether a variable contains the location of programs or temporary files, the language or the time
// zone.
func isNeeded(name string) bool {
	switch name {
	case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LANGUAGE", "TERM":
		return true
	}
	return strings.HasPrefix(name, "LC_")
}
