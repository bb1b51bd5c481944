package dig

import (
	"path"
	"strings"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// MostCalls limits how many files are followed from one call>.
const MostCalls = 50

// Callees returns the files that static tasks call.
func Callees(folder string, config *param.Map) (files []string) {
	for _, task := range certainTasks(config) {
		operator, _, command := keys.Operator(task)
		if name, ok := command.(string); ok && operator == "call" && !strings.Contains(name, "${") {
			files = append(files, CalledFile(folder, name))
		}
	}
	return files
}

// CalledFile returns the file that call> names in a workflow of a folder.
func CalledFile(folder, name string) string {
	return strings.TrimSuffix(path.Join(folder, name), Suffix) + Suffix
}
