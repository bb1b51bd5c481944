package lineage

import "strings"

// Environment selects which variables of this program commands get, in addition to those of their task. No other
// package decides this.
type Environment int

const (
	// Everything except the key of secrets is for the commands of `zerodag run`: they belong to the user who started it
	// and has the variables anyway.
	Everything Environment = iota
	// NotOwn is everything except the configuration of this program, which may be passwords and keys.
	NotOwn
	// Bare is no more than a program needs to find others and to write in a language.
	Bare
)

// Gives reports whether commands have a variable of this program.
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

// isOwn reports whether a variable is read by this program itself.
func isOwn(name string) bool {
	return strings.HasPrefix(name, "ZERODAG_") || strings.HasPrefix(name, "DIGDAG_CONFIG")
}

// isNeeded reports whether a variable has the place of programs or temporary files, or the language or time zone.
func isNeeded(name string) bool {
	switch name {
	case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LANGUAGE", "TERM":
		return true
	}
	return strings.HasPrefix(name, "LC_")
}
