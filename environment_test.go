package zerodag_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"zerodag/internal/env"
	"zerodag/internal/lineage"
	"zerodag/operators"
)

// TestVariablesOfCommands proves that none of the variables which describe a run to its command is one that a program of
// ours reads, and that commands of a server get none of those.
func TestVariablesOfCommands(t *testing.T) {
	t.Parallel()
	read := map[string]string{}
	for name := range (env.Config{}).Variables() {
		read[name] = "internal/env"
	}
	literal := regexp.MustCompile(`"(ZERODAG_[A-Z_]+[A-Z])"`)
	for _, file := range goFiles(t, false) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range literal.FindAllStringSubmatch(string(text), -1) {
			read[m[1]] = file
		}
	}
	for _, name := range []string{"ZERODAG_TOKEN", "ZERODAG_TICKET", "ZERODAG_TABLE", "ZERODAG_SECRET_KEY"} {
		if read[name] == "" {
			t.Errorf("%s was not found", name)
		}
	}
	for name, file := range read {
		if lineage.NotOwn.Gives(name) || lineage.Bare.Gives(name) {
			t.Errorf("commands of a server are given %s (%s)", name, file)
		}
	}
	for _, pair := range append((&operators.Task{}).IdentityEnv(), "ZERODAG_STORE=") {
		if name, _, _ := strings.Cut(pair, "="); read[name] != "" {
			t.Errorf("commands are given %s, which %s reads", name, read[name])
		}
	}
}
