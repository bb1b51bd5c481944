// Package program describes this process: the name that started it, errors of the command line, and the signals that
// end it.
//
// All packages of the command line may use it. It does not depend on any of those packages.
package program

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Name is the name of this program unless it runs in place of Digdag.
const Name = "zerodag"

// Called returns the name that started this program: digdag if it runs in place of Digdag, otherwise zerodag.
var Called = sync.OnceValue(func() string { return calledAs(os.Args[0]) })

// calledAs returns the name of a program from the path that started it.
func calledAs(path string) string {
	if strings.TrimSuffix(filepath.Base(path), ".exe") == "digdag" {
		return "digdag"
	}
	return Name
}

// AsDigdag reports whether this program was started as digdag. Scripts that were written for Digdag then get Digdag's
// usage text and exit codes.
func AsDigdag() bool { return Called() != Name }

// AsCalled replaces this program's name in the commands within a string with the name by which it was started.
func AsCalled(text string) string {
	return strings.NewReplacer("`"+Name+" ", "`"+Called()+" ", "$ "+Name+" ", "$ "+Called()+" ").Replace(text)
}

// ErrShown is an error whose message has already been printed.
var ErrShown = errors.New("failed")

// wrongUse is an error about an invalid command line: the usage is shown before its message.
type wrongUse struct{ error }

// UsageError marks an error as caused by the command line: the program then shows the usage and exits with code 2.
func UsageError(err error) error { return wrongUse{err} }

// IsUsageError reports whether an error was caused by the command line.
func IsUsageError(err error) bool {
	var wrong wrongUse
	return errors.As(err, &wrong)
}
