package conformance

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

var commandOperator = regexp.MustCompile(`\b(sh|py|rb)>|_type: (sh|py|rb)\b`)

// runsCommands says whether the case uses an operator that starts a process.
func (c Case) runsCommands() bool {
	found := false
	filepath.WalkDir(c.Dir, func(path string, d fs.DirEntry, err error) error { // a file that cannot be read fails the case itself
		if err != nil || d.IsDir() || d.Name() == "expected.json" {
			return nil
		}
		text, _ := os.ReadFile(path)
		found = found || commandOperator.Match(text)
		return nil
	})
	return found
}
