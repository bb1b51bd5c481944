package hosttest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"zerodag/internal/host/hosttest/suite"
)

// inSuiteOf returns the port or test that checks an interface without a suite; "-" for an interface that is not a port,
// "" for one with a suite.
func inSuiteOf(name string) string {
	return map[string]string{
		"Workflows":     "Projects", // a push writes them
		"AttemptFlags":  "Attempts",
		"AddedAttempts": "Attempts",
		"TaskLog":       "Logs", // what Logs.Open returns
		"NoticeRecords": "Outbox",
		"Archive":       "-", // an unpacked project, not a store
		// Interfaces of a single service, tested next to its driver.
		"DeadLetters": "sqs: redrive_test.go",
		"Signer":      "s3: upload_test.go",
		"Observer":    "node: observer_test.go",
		"Keeper":      "notice: outbox_test.go",
		"TextLinks":   "s3: links_test.go",
		"Forwarder":   "postgres: types_test.go",
		"Identities":  "oidc: oidc_test.go",
	}[name]
}

// TestEveryPortHasASuite proves that each interface that package host declares has a suite here, so
// that a new port cannot be added without its contract.
func TestEveryPortHasASuite(t *testing.T) {
	t.Parallel()
	suites := []string{}
	for _, p := range ports() {
		suites = append(suites, p.name)
	}
	files, err := filepath.Glob("../*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			s, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if _, isInterface := s.Type.(*ast.InterfaceType); isInterface && s.Name.IsExported() {
				found++
				if !slices.Contains(suites, s.Name.Name) && inSuiteOf(s.Name.Name) == "" {
					t.Errorf("%s: host.%s has no suite in hosttest", file, s.Name.Name)
				}
			}
			return true
		})
	}
	if found < 12 {
		t.Errorf("%d interfaces found in package host, there are more", found)
	}
}

// TestForgottenPort proves that a port that a driver neither creates nor names is run and therefore fails, and that
// every name in its list must be a port and have a reason.
func TestForgottenPort(t *testing.T) {
	t.Parallel()
	absent := map[string]string{}
	for _, p := range ports() {
		if p.name != "Bus" {
			absent[p.name] = "it is tested elsewhere"
		}
	}
	run, problems := exercised(Driver{Absent: absent})
	if len(run) != 1 || run[0].name != "Bus" || run[0].has(suite.Stores{}) || len(problems) != 0 {
		t.Errorf("run %v, problems %v", run, problems)
	}
	absent["Bus"], absent["Buss"] = "", "a typing error"
	if _, problems = exercised(Driver{Absent: absent}); len(problems) != 3 {
		t.Errorf("problems %q, want a missing reason, an unknown name and that nothing runs", problems)
	}
}
