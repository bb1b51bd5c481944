package security

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// exprServe starts a server that runs as many attempts as there are expressions.
func exprServe(t *testing.T) *server {
	t.Helper()
	return serve(t, "-X", "executor.attempt_max_run=10000")
}

// exprQuoted returns a string as a quoted YAML string.
func exprQuoted(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(text)
	return strings.TrimSpace(b.String())
}

// exprChildren returns the evaluators of a process.
func exprChildren(pid int) []int {
	var list []int
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		text, _ := os.ReadFile(name)
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
		if len(fields) > 1 && fields[0] != "Z" && fields[1] == strconv.Itoa(pid) && strings.HasPrefix(string(line), "zerodag-evaluator") {
			child, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			list = append(list, child)
		}
	}
	slices.Sort(list)
	return list
}
