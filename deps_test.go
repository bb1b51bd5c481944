package zerodag_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rule says what a package, and everything that it imports, must not import.
type rule struct{ pkg, banned, why string }

var rules = []rule{
	{"zerodag/engine/...", "net", "the engine does no I/O"},
	{"zerodag/engine/...", "net/http", "the engine does no I/O"},
	{"zerodag/engine/...", "os/exec", "the engine does no I/O"},
	{"zerodag/engine/...", "zerodag/operators", "the engine knows no operator"},
	{"zerodag/engine/...", "zerodag/internal/", "the engine knows no driver"},
	{"zerodag/engine", "github.com/dop251/goja", "Step never evaluates an expression"},
	{"zerodag/engine/dig", "github.com/dop251/goja", "loading never evaluates an expression"},
	{"zerodag/engine/param", "gopkg.in/yaml.v3", "only engine/dig reads YAML"},
	{"zerodag/engine/expr", "gopkg.in/yaml.v3", "only engine/dig reads YAML"},
	{"zerodag/engine/expr", "github.com/dop251/goja", "only engine/expr/script runs JavaScript"},
	{"zerodag/functions/...", "github.com/dop251/goja", "with it the linker keeps every method of every SDK: cmd/evaluator has it"},
	{"zerodag/internal/cloud", "zerodag/operators/", "a function links the operators that it runs"},
	{"zerodag/functions/api", "zerodag/operators/", "it runs no operator"},
	{"zerodag/functions/tick", "zerodag/operators/", "it runs no operator"},
	{"zerodag/functions/upload", "zerodag/operators/", "it runs no operator"},
	{"zerodag/functions/executor", "zerodag/operators/all", "it runs operators without I/O only"},
	{"zerodag/cmd/evaluator", "zerodag/operators", "it evaluates expressions and knows nothing else"},
	{"zerodag/operators/all", "zerodag/internal/", "operators know capabilities, not drivers"},
	{"zerodag/operators", "zerodag/operators/", "the contract knows no operator"},
	{"zerodag/internal/local", "zerodag/internal/process", "the host knows interfaces, not drivers"},
	{"zerodag/internal/local", "zerodag/internal/files", "the host knows interfaces, not drivers"},
	{"zerodag/functions/...", "zerodag/internal/sqlite", "SQLite has no place in a function"},
	{"zerodag/functions/...", "zerodag/internal/process", "a function runs no commands: its only processes are evaluators"},
	{"zerodag/functions/...", "zerodag/internal/docker", "a function has no engine"},
	{"zerodag/functions/...", "zerodag/cmd/", "functions and the command line are two shells of one host"},
	{"zerodag/internal/cloud", "zerodag/internal/sqlite", "SQLite has no place in a function"},
	{"zerodag/internal/embedded", "zerodag/internal/dynamo", "one machine needs no driver of AWS: only operators link the SDK"},
	{"zerodag/internal/embedded", "zerodag/internal/sqs", "one machine needs no driver of AWS: only operators link the SDK"},
	{"zerodag/internal/embedded", "zerodag/internal/s3", "one machine needs no driver of AWS: only operators link the SDK"},
	{"zerodag/internal/embedded", "zerodag/internal/border", "one machine needs no driver of AWS: only operators link the SDK"},
	{"zerodag/operators", "github.com/aws/", "the contract knows no SDK"},
	{"zerodag/operators/aws", "zerodag/internal/", "operators know capabilities, not drivers"},
	{"zerodag/operators/sql", "github.com/aws/", "databases are spoken to without AWS"},
	{"zerodag/cmd/...", "zerodag/internal/dynamo", "the command line knows no AWS driver"},
	{"zerodag/cmd/...", "github.com/aws/aws-cdk-go/", "only infra pays for the CDK"},
	{"zerodag/internal/dynamo", "zerodag/internal/sqs", "drivers do not know each other"},
	{"zerodag/internal/dynamo", "zerodag/internal/s3", "drivers do not know each other"},
	{"zerodag/internal/sqs", "zerodag/internal/dynamo", "drivers do not know each other"},
	{"zerodag/internal/s3", "zerodag/internal/dynamo", "drivers do not know each other"},
	{"zerodag/cmd/runner", "zerodag/internal/", "it starts in every image: the standard library only"},
	{"zerodag/cmd/runner", "zerodag/operators", "it starts in every image: the standard library only"},
	{"zerodag/cmd/runner", "zerodag/engine", "it starts in every image: the standard library only"},
	{"zerodag/cmd/runner", "github.com/", "it starts in every image: the standard library only"},
	{"zerodag/cmd/runner", "golang.org/", "it starts in every image: the standard library only"},
	{"zerodag/internal/sandbox", "github.com/aws/", "the sandbox knows ports, not drivers"},
	{"zerodag/internal/sandbox", "zerodag/internal/dynamo", "the sandbox knows ports, not drivers"},
	{"zerodag/internal/sandbox", "zerodag/internal/s3", "the sandbox knows ports, not drivers"},
	{"zerodag/internal/sandbox", "zerodag/internal/fargate", "the sandbox knows ports, not drivers"},
	{"zerodag/internal/fargate", "zerodag/internal/dynamo", "drivers do not know each other"},
	{"zerodag/internal/fargate", "zerodag/internal/s3", "drivers do not know each other"},
	{"zerodag/internal/fargate", "zerodag/internal/sqs", "drivers do not know each other"},
	{"zerodag/internal/fargate", "github.com/aws/aws-sdk-go-v2/service/dynamodb", "a driver links its own service only"},
	{"zerodag/infra", "zerodag/internal/host", "infra knows names, not programs"},
	{"zerodag/events", "zerodag/internal/", "wire forms know no host"},
	{"zerodag/events", "net/http", "wire forms know no transport"},
	{"zerodag/internal/host", "zerodag/internal/sqlite", "the host knows ports, not drivers"},
	{"zerodag/internal/host", "zerodag/internal/files", "the host knows ports, not drivers"},
	{"zerodag/internal/host", "zerodag/internal/process", "the host knows ports, not drivers"},
	{"zerodag/internal/host", "zerodag/internal/evaluators", "the host knows ports, not drivers"},
	{"zerodag/internal/local", "zerodag/internal/evaluators", "the host knows interfaces, not drivers"},
	{"zerodag/internal/evaluators", "zerodag/internal/host", "an evaluator is small: expressions and nothing else"},
	{"zerodag/internal/host", "zerodag/internal/docker", "the host knows ports, not drivers"},
	{"zerodag/internal/host", "zerodag/internal/httpapi", "the host does not know who calls it"},
	{"zerodag/internal/host", "zerodag/operators/", "the host knows the contract of operators, not one of them"},
	{"zerodag/internal/host", "modernc.org/sqlite", "the host knows ports, not drivers"},
	{"zerodag/internal/httpapi", "zerodag/internal/sqlite", "the API serves every deployment"},
	{"zerodag/internal/httpapi", "zerodag/internal/files", "the API serves every deployment"},
	{"zerodag/internal/httpapi", "zerodag/operators/", "the API runs no operator"},
	{"zerodag/internal/gate", "zerodag/internal/host", "it counts connections, whatever they are for"},
	{"zerodag/internal/client", "zerodag/internal/host", "the client speaks to any server"},
	{"zerodag/internal/client", "github.com/aws/", "the client speaks to any server: internal/iam signs for it"},
	{"zerodag/internal/iam", "zerodag/internal/host", "it signs requests, whatever they are"},
	{"zerodag/internal/process", "zerodag/internal/files", "drivers do not know each other"},
	{"zerodag/internal/process", "zerodag/internal/sqlite", "drivers do not know each other"},
	{"zerodag/internal/process", "zerodag/internal/docker", "drivers do not know each other"},
	{"zerodag/internal/docker", "zerodag/internal/process", "drivers do not know each other"},
	{"zerodag/internal/docker", "zerodag/internal/files", "drivers do not know each other"},
	{"zerodag/internal/docker", "zerodag/internal/sqlite", "drivers do not know each other"},
	{"zerodag/internal/limits", "os/exec", "it measures and tells, others start and end"},
	{"zerodag/internal/files", "zerodag/internal/process", "drivers do not know each other"},
	{"zerodag/internal/files", "zerodag/internal/sqlite", "drivers do not know each other"},
	{"zerodag/internal/sqlite", "zerodag/internal/files", "drivers do not know each other"},
	{"zerodag/internal/sqlite", "zerodag/internal/process", "drivers do not know each other"},
	{"zerodag/internal/dynamo", "zerodag/internal/sqs", "drivers do not know each other"},
	{"zerodag/internal/dynamo", "zerodag/internal/s3", "drivers do not know each other"},
	{"zerodag/internal/dynamo", "zerodag/internal/ssm", "drivers do not know each other"},
	{"zerodag/internal/dynamo", "github.com/aws/aws-sdk-go-v2/service/sqs", "a driver links its own service only"},
	{"zerodag/internal/dynamo", "github.com/aws/aws-sdk-go-v2/service/s3", "a driver links its own service only"},
	{"zerodag/internal/dynamo", "github.com/aws/aws-sdk-go-v2/service/ssm", "a driver links its own service only"},
	{"zerodag/internal/dynamo", "zerodag/internal/sqlite", "drivers do not know each other"},
	{"zerodag/internal/dynamo", "zerodag/internal/files", "drivers do not know each other"},
	{"zerodag/internal/sqs", "zerodag/internal/dynamo", "drivers do not know each other"},
	{"zerodag/internal/sqs", "zerodag/internal/s3", "drivers do not know each other"},
	{"zerodag/internal/sqs", "zerodag/internal/ssm", "drivers do not know each other"},
	{"zerodag/internal/sqs", "github.com/aws/aws-sdk-go-v2/service/dynamodb", "a driver links its own service only"},
	{"zerodag/internal/sqs", "github.com/aws/aws-sdk-go-v2/service/s3", "a driver links its own service only"},
	{"zerodag/internal/sqs", "github.com/aws/aws-sdk-go-v2/service/ssm", "a driver links its own service only"},
	{"zerodag/internal/sqs", "zerodag/internal/sqlite", "drivers do not know each other"},
	{"zerodag/internal/sqs", "zerodag/internal/files", "drivers do not know each other"},
	{"zerodag/internal/s3", "zerodag/internal/dynamo", "drivers do not know each other"},
	{"zerodag/internal/s3", "zerodag/internal/sqs", "drivers do not know each other"},
	{"zerodag/internal/s3", "zerodag/internal/ssm", "drivers do not know each other"},
	{"zerodag/internal/s3", "github.com/aws/aws-sdk-go-v2/service/dynamodb", "a driver links its own service only"},
	{"zerodag/internal/s3", "github.com/aws/aws-sdk-go-v2/service/sqs", "a driver links its own service only"},
	{"zerodag/internal/s3", "github.com/aws/aws-sdk-go-v2/service/ssm", "a driver links its own service only"},
	{"zerodag/internal/s3", "zerodag/internal/sqlite", "drivers do not know each other"},
	{"zerodag/internal/s3", "zerodag/internal/files", "drivers do not know each other"},
	{"zerodag/internal/ssm", "zerodag/internal/dynamo", "drivers do not know each other"},
	{"zerodag/internal/ssm", "zerodag/internal/sqs", "drivers do not know each other"},
	{"zerodag/internal/ssm", "zerodag/internal/s3", "drivers do not know each other"},
	{"zerodag/internal/ssm", "github.com/aws/aws-sdk-go-v2/service/dynamodb", "a driver links its own service only"},
	{"zerodag/internal/ssm", "github.com/aws/aws-sdk-go-v2/service/sqs", "a driver links its own service only"},
	{"zerodag/internal/ssm", "github.com/aws/aws-sdk-go-v2/service/s3", "a driver links its own service only"},
	{"zerodag/internal/ssm", "zerodag/internal/sqlite", "drivers do not know each other"},
	{"zerodag/internal/ssm", "zerodag/internal/files", "drivers do not know each other"},
	{"zerodag/internal/lambda", "github.com/aws/aws-sdk-go-v2/service/s3", "a driver links its own service only"},
	{"zerodag/internal/lambda", "github.com/aws/aws-sdk-go-v2/service/dynamodb", "a driver links its own service only"},
	{"zerodag/internal/embedded", "zerodag/internal/lambda", "one machine needs no driver of AWS: only operators link the SDK"},
	{"zerodag/internal/border", "github.com/aws/aws-sdk-go-v2/service/", "the border is the same for every service"},
	{"zerodag/internal/env", "zerodag/internal/host", "infra and functions agree on names only"},
	{"zerodag/internal/env", "github.com/aws/", "infra and functions agree on names only"},
	{"zerodag/internal/tasklog", "zerodag/internal/files", "the form of logs knows no store"},
	{"zerodag/internal/host", "github.com/aws/", "the host knows ports, not drivers"},
	{"zerodag/cmd/...", "github.com/aws/aws-lambda-go", "the command line is no function"},
	{"zerodag/cmd/...", "zerodag/integration", "integration is imported by nobody"},
}

// TestDependencies proves that arrows between packages point one way only.
func TestDependencies(t *testing.T) {
	t.Parallel()
	all := map[string][]string{}
	for _, r := range rules {
		if all[r.pkg] == nil {
			out, err := exec.Command("go", "list", "-deps", r.pkg).CombinedOutput()
			if err != nil {
				t.Fatalf("go list %s: %v\n%s", r.pkg, err, out)
			}
			all[r.pkg] = strings.Fields(string(out))
		}
		for _, dep := range all[r.pkg] {
			if dep == r.banned || strings.HasSuffix(r.banned, "/") && strings.HasPrefix(dep, r.banned) {
				t.Errorf("%s imports %s: %s", r.pkg, dep, r.why)
			}
		}
	}
}

// TestOperatorsApart proves that no operator imports another one. operators/aws is none: it
// is what those for AWS share, links no service but the one that lends roles, and knows none
// of them; nor is operators/sql, which is what those for databases share.
func TestOperatorsApart(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}}:{{range .Imports}} {{.}}{{end}}", "./operators/...").CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		name, imports, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "zerodag/operators/all" || name == "zerodag/operators/inline" {
			continue
		}
		for i := range strings.FieldsSeq(imports) {
			if strings.HasPrefix(i, "zerodag/operators/") && i != "zerodag/operators/aws" && i != "zerodag/operators/sql" {
				t.Errorf("%s imports %s: an operator knows only the contract", name, i)
			}
			if service := "github.com/aws/aws-sdk-go-v2/service/"; name == "zerodag/operators/aws" && strings.HasPrefix(i, service) && i != service+"sts" {
				t.Errorf("%s imports %s: what operators for AWS share is the same for every service", name, i)
			}
		}
	}
}

// goFiles lists the Go files of the project, tests left out on demand.
func goFiles(t *testing.T, tests bool) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || d.Name() == "bin" || strings.HasPrefix(d.Name(), ".") && path != ".") {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, ".go") && (tests || !strings.HasSuffix(path, "_test.go")) {
			list = append(list, path)
		}
		return nil
	})
	if err != nil || len(list) == 0 {
		t.Fatalf("list of Go files: %d, %v", len(list), err)
	}
	return list
}

// TestPackageDocs proves that every package says what it is, in one file.
func TestPackageDocs(t *testing.T) {
	t.Parallel()
	docs := map[string]int{}
	for _, name := range goFiles(t, false) {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Dir(name)
		docs[dir] += 0
		if f.Doc != nil {
			docs[dir]++
			if len(f.Doc.Text()) < 60 {
				t.Errorf("%s: the package comment is too short to say what the package is and must never do", name)
			}
		}
	}
	for dir, n := range docs {
		if n != 1 {
			t.Errorf("package %s has %d package comments, want 1", dir, n)
		}
	}
}

// TestNames proves that no package is a drawer.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, name := range goFiles(t, true) {
		for part := range strings.SplitSeq(filepath.ToSlash(filepath.Dir(name)), "/") {
			if slices.Contains([]string{"util", "utils", "common", "helpers", "helper", "misc", "base", "types", "models", "manager"}, part) {
				t.Errorf("%s: %q says nothing: name the package after what it holds", name, part)
			}
		}
	}
}

// TestTopLevel proves that nothing was added to the agreed top level.
func TestTopLevel(t *testing.T) {
	t.Parallel()
	allowed := strings.Fields(`functions infra engine operators events integration internal cmd ui docs examples bin
		cdk.json go.mod go.sum Makefile README.md CHANGELOG.md CONTRIBUTING.md LICENSE zerodag.go doc.go example_test.go deps_test.go`)
	entries, err := filepath.Glob("*")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e, ".") {
			continue // settings of tools
		}
		if !slices.Contains(allowed, e) {
			t.Errorf("%s is not part of the agreed top level", e)
		}
	}
}
