package conformance

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

var commandOperator = regexp.MustCompile(`\b(sh|py|rb)>|_type: (sh|py|rb)\b`)

// peer matches a case's placeholders for local servers and for its files.
var peer = regexp.MustCompile(`@HTTP@|@SMTP_PORT@|@OUT@`)

// runsCommands reports whether the case uses an operator that starts a process.
func (c Case) runsCommands() bool { return c.contains(commandOperator) }

// needsSurroundings reports whether the case uses local servers.
func (c Case) needsSurroundings() bool { return slices.Contains(c.Needs, "pg") || c.contains(peer) }

// contains reports whether a file of the case, other than its result, matches what.
func (c Case) contains(what *regexp.Regexp) bool {
	found := false
	filepath.WalkDir(c.Dir, func(path string, d fs.DirEntry, err error) error { // an unreadable file fails the case itself
		if err != nil || d.IsDir() || d.Name() == "expected.json" {
			return nil
		}
		text, _ := os.ReadFile(path)
		found = found || what.Match(text)
		return nil
	})
	return found
}
