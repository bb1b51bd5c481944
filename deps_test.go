package zerodag_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"zerodag/internal/env"
	"zerodag/internal/lineage"
	"zerodag/operators"
)

// allowed is a row of the import table: what some of our packages may import in addition to the standard library. A
// name that ends in "/*" stands for the packages directly below it, and a name that ends in "/..." for the package
// itself and all packages below it. The first row that matches a package applies.
type allowed struct{ packages, imports, why string }

// Imports that several rows share.
const (
	core   = " engine engine/claim engine/dig engine/dig/keys engine/dig/rule engine/param engine/schedule events operators internal/host "
	sdk    = " github.com/aws/aws-sdk-go-v2/aws/... github.com/aws/smithy-go/... internal/border "
	shared = " engine/resume internal/pool internal/replay internal/retry internal/vault internal/execution engine/expr operators/run "
	test   = " github.com/google/go-cmp/cmp "
)

// service returns the package with the client of an AWS service.
func service(name string) string { return " github.com/aws/aws-sdk-go-v2/service/" + name + "/... " }

// imports returns the table. Imports that are not in it are not allowed: a new package needs a row, or must match one.
func imports() []allowed {
	return []allowed{
		{"engine/regex engine/expr/assets internal/aesgcm internal/env internal/datafolder internal/egress internal/gate internal/seal internal/turns internal/oidc/oidctest docs cmd/runner examples/... internal/docker/dockertest ui", "",
			"they know nothing of ours; the runner starts in every image"},
		{"engine/param", "engine/regex", "values, and patterns to match them"},
		{"engine/schedule", "engine/param github.com/robfig/cron/v3", "it alone reads patterns of cron"},
		{"engine/expr internal/client", "engine/param", "values are all that they share with others; the client speaks to any server"},
		{"engine/dig/rule", "engine/param engine/regex", "it reads rules and values, and knows no key"},
		{"engine/dig/keys", "engine/dig/rule engine/param engine/regex engine/schedule", "it knows what keys mean, and reads no file"},
		{"engine/dig/letters", "", "it knows characters"},
		{"engine/dig", "engine/dig/keys engine/dig/letters engine/dig/rule engine/param engine/schedule gopkg.in/yaml.v3", "it alone reads workflows"},
		{"engine/dig/lint/shell", "engine/dig/letters engine/param", "it knows scripts, and no workflow"},
		{"engine/dig/lint/parameters", "engine/dig engine/dig/keys engine/param", "it knows names and their types, and looks at no task"},
		{"engine/dig/lint", "engine/dig engine/dig/keys engine/dig/letters engine/dig/lint/parameters engine/dig/lint/shell engine/param engine/schedule", "it warns, and changes nothing of what runs"},
		{"engine/claim", "engine/param", "it knows durations and slots, and no task"},
		{"engine", "engine/claim engine/dig engine/dig/keys engine/param engine/schedule", "the state machine never evaluates an expression"},
		{"engine/resume", "engine engine/dig engine/dig/keys engine/param", "it reads states, and changes none"},
		{"engine/enginetest", "engine engine/claim engine/dig engine/dig/keys engine/param engine/resume", "it tests the state machine alone"},
		{"engine/enginetest/draw", "engine engine/param", "it makes values, and checks nothing"},
		{"engine/enginetest/simulation", "engine engine/claim engine/dig engine/dig/keys engine/enginetest engine/enginetest/draw engine/param engine/resume", "it tests the state machine alone"},
		{"engine/enginetest/recovery", "engine/enginetest/draw engine/param", "it predicts without the engine"},
		{"engine/expr/script", "engine/expr engine/param github.com/dop251/goja/... github.com/dlclark/regexp2/v2", "it alone runs JavaScript"},
		{"events", "engine engine/claim engine/param", "wire forms know no host"},

		{"operators", "engine engine/dig engine/dig/keys engine/dig/rule engine/param", "the contract knows no operator, driver or SDK, nor who runs it"},
		{"operators/run", "engine engine/claim engine/dig engine/dig/keys engine/dig/rule engine/expr engine/param operators", "the runtime knows the contract, and no operator"},
		{"operators/all operators/inline", "operators operators/*", "lists of operators, and nothing else"},
		{"operators/aws", "engine/... operators github.com/aws/aws-sdk-go-v2/config github.com/aws/aws-sdk-go-v2/credentials/..." + sdk[:len(sdk)-len("internal/border ")] + service("sts"),
			"what AWS operators share is the same for every service"},
		{"operators/sql", "engine/... operators github.com/jackc/pgx/v5/...", "databases are spoken to without AWS"},
		{"operators/operatortest/...", "engine/... operators operators/sql operators/operatortest/... internal/files internal/httpclient internal/process internal/projectfiles github.com/jackc/pgx/v5/pgconn github.com/go-sql-driver/mysql golang.org/x/crypto/ssh" + test, "the suite runs operators for real"},
		{"operators/gcp/api", "engine/param golang.org/x/oauth2/...", "it speaks to Google by the HTTP client that it is given"},
		{"operators/gcp", "engine/... operators operators/gcp/api", "an operator knows the contract and its own client, and no other operator"},
		{"operators/td/api", "engine/param github.com/tinylib/msgp/msgp", "it speaks to Treasure Data by the HTTP client that it is given"},
		{"operators/td", "engine/... operators operators/sql operators/td/api", "an operator knows the contract and its own client, no driver and no other operator"},
		{"operators/*", "engine/... operators operators/aws operators/sql github.com/aws/aws-sdk-go-v2/... github.com/aws/smithy-go/... github.com/jackc/pgx/v5/pgconn github.com/go-sql-driver/mysql github.com/wneessen/go-mail/... golang.org/x/net/... golang.org/x/text/... golang.org/x/sync/... golang.org/x/crypto/ssh",
			"an operator knows the contract and its own library, no driver and no other operator"},

		{"internal/host", core + "operators/run", "ports know no store, no SDK and none of their users"},
		{"internal/host/hosttest/... internal/sandbox/sandboxtest internal/executors/executorstest", core + "github.com/google/go-cmp/cmp/cmpopts engine/expr internal/host/hosttest/... internal/sandbox operators/run operators/sh" + test, "suites know contracts"},
		{"internal/meter", "internal/host", "it counts, and reads neither a store nor a clock"},
		{"internal/replay internal/retry internal/roster internal/tick", core, "parts of the shell that know ports only"},
		{"internal/execution internal/vault", core + "engine/expr operators/run", "they make what a run needs, and run nothing"},
		{"internal/pool", "engine engine/claim events internal/host", "rules of pools know neither clock nor store"},
		{"internal/catalogue/sessiontime", "engine/schedule internal/host", "it reads texts, and knows no store"},
		{"internal/catalogue/names", "engine/dig/keys engine/param internal/host", "it reads texts, and knows no store"},
		{"internal/catalogue/given", "engine/dig engine/dig/keys engine/dig/lint/parameters engine/param internal/host operators", "it reads values, and knows no store"},
		{"internal/catalogue/filling", "internal/catalogue/sessiontime internal/host", "it edits values, and knows no store"},
		{"internal/catalogue", core + shared + "internal/catalogue/filling internal/catalogue/given internal/catalogue/names internal/catalogue/sessiontime internal/sitesecret", "it does not know internal/delivery: internal/node puts them together"},
		{"internal/delivery", core + shared, "it does not know internal/catalogue: internal/node puts them together"},
		{"internal/node", core + shared + "internal/catalogue internal/delivery internal/tasklog", "the shell knows ports and the form of logs, not drivers"},
		{"internal/uploads", core + shared + "internal/catalogue internal/delivery", "the shell knows ports, not drivers"},
		{"internal/local", core + shared + "internal/catalogue internal/catalogue/given", "`run` knows interfaces, not drivers"},
		{"internal/console", core + "engine/expr internal/catalogue", "a console reads what the catalogue has"},
		{"internal/check", "engine/dig engine/dig/keys engine/dig/lint engine/param operators operators/all operators/run" + test, "it looks at files that came in a request, and at nothing else"},
		{"internal/httpapi/wire", core + "internal/catalogue internal/catalogue/filling internal/catalogue/names internal/check internal/console internal/replay", "it is JSON, and asks no store"},
		{"internal/httpapi/access", core + "internal/catalogue/names internal/httpapi/wire internal/seal", "it knows callers, and no endpoint"},
		{"internal/certificate", "", "it reads files, and knows no server"},
		{"internal/sitesecret", "internal/host", "it knows what a stored secret of a site looks like, and no store"},
		{"internal/scope", "engine/param internal/host", "it hides objects, and decides nothing else"},
		{"internal/httpapi/endpoint", core + "internal/catalogue internal/check internal/console internal/httpapi/access internal/httpapi/wire internal/meter internal/node internal/scope internal/turns internal/uploads", "it is what all endpoints share, and knows none"},
		{"internal/httpapi/*", core + "docs internal/catalogue internal/catalogue/names internal/check internal/console internal/httpapi/access internal/httpapi/endpoint internal/httpapi/wire internal/meter internal/node internal/replay internal/tasklog internal/uploads",
			"rooms of endpoints do not know each other, and run no operator"},
		{"internal/httpapi", "internal/host internal/httpapi/*", "the API serves every deployment and runs no operator"},

		{"internal/evaluators/wire", "engine/expr engine/param engine/schedule", "both sides of it are small"},
		{"internal/evaluators/evaluator", "engine/... internal/evaluators/wire golang.org/x/sys/... github.com/elastic/go-seccomp-bpf/...", "an evaluator is small: expressions and nothing else"},
		{"internal/evaluators", "engine/expr engine/param internal/evaluators/wire internal/limits internal/turns operators operators/run golang.org/x/sys/...", "who asks never links the JavaScript engine"},

		{"internal/landlock internal/limits internal/scratch internal/tasklog internal/placement internal/lineage", core + "golang.org/x/sys/...", "parts of drivers; they know no driver"},
		{"internal/uptime", "golang.org/x/sys/...", "it reads a clock"},
		{"internal/icalendar", "", "it reads a text"},
		{"internal/dagu/document", "engine/dig engine/dig/keys engine/param", "it reads a text and notes what becomes of it, and knows no translation"},
		{"internal/dagu/precomputed", "engine/param github.com/go-task/slim-sprig/v3 gopkg.in/yaml.v3 internal/dagu/document", "it fills templates and converts data with the libraries that Dagu uses"},
		{"internal/dagu/written internal/dagu/sequence", "engine/dig engine/param internal/dagu/document", "one prints tasks and one orders steps; neither makes any"},
		{"internal/dagu/forms", "engine/dig/keys engine/param internal/dagu/document internal/dagu/precomputed", "it turns steps into steps, and makes no tasks"},
		{"internal/dagu/references", "engine/dig/keys engine/param internal/dagu/document internal/dagu/sequence", "it translates texts, and makes no tasks"},
		{"internal/dagu/tasks", "engine/dig/keys engine/param internal/dagu/document internal/dagu/references internal/dagu/sequence", "it makes tasks of commands, and knows no kinds of steps"},
		{"internal/dagu/kinds", "engine/dig/keys engine/param internal/dagu/document internal/dagu/precomputed internal/dagu/references internal/dagu/sequence internal/dagu/tasks", "it knows kinds of steps, and no workflow"},
		{"internal/dagu/workflow", "engine/dig/keys engine/param internal/dagu/document internal/dagu/forms internal/dagu/kinds internal/dagu/references internal/dagu/sequence internal/dagu/tasks internal/dagu/written", "it puts the tasks of steps together"},
		{"internal/digdag", "engine/param github.com/jackc/pgx/v5/... internal/client", "it reads from Digdag and sends to any server"},
		{"internal/dagu", "internal/dagu/document internal/dagu/workflow internal/dagu/written", "it turns a text into texts; its packages do the work"},
		{"internal/process internal/docker", core + "internal/datafolder internal/landlock internal/limits internal/lineage internal/scratch golang.org/x/sys/...", "drivers do not know each other"},
		{"internal/executors", core + "internal/docker internal/landlock internal/limits internal/lineage internal/placement internal/process internal/scratch", "it chooses where a command of one machine runs"},
		{"internal/plainfile", "", "it knows files, and not what they are for"},
		{"internal/projectfiles", "engine/dig engine/param internal/datafolder internal/host internal/limits internal/plainfile", "it knows the files of a project, and nothing that runs them"},
		{"internal/files", core + "operators/run internal/datafolder internal/limits internal/plainfile internal/projectfiles internal/tasklog golang.org/x/sys/...", "drivers do not know each other"},
		{"internal/sqlstore", core + "internal/aesgcm", "it knows SQL and no database"},
		{"internal/sqlite", core + "internal/sqlstore modernc.org/sqlite/...", "drivers do not know each other"},
		{"internal/postgres", core + "internal/sqlstore internal/tasklog internal/turns github.com/jackc/pgx/v5/...", "drivers do not know each other"},
		{"internal/httpclient", "operators golang.org/x/net/...", "it knows what operators ask for"},
		{"internal/notice", core + "internal/httpclient", "a function has notices, but no mail"},
		{"internal/trace", core + "internal/execution", "spans of an attempt, as pure data"},
		{"internal/trace/otlp", core + "internal/httpclient internal/retry internal/trace", "how spans are sent"},
		{"internal/notice/channel", core + "internal/notice", "it writes messages for services, and sends them as package notice does"},
		{"internal/notice/mail", core + "operators/mail", "a mail is sent in the way of `mail>`"},
		{"internal/sandbox", core + "operators/run", "it knows ports, not drivers"},
		{"internal/border", core + sdk, "it is the same for every service"},
		{"internal/oidc", core + "github.com/coreos/go-oidc/v3/oidc golang.org/x/oauth2 internal/oidc/oidctest" + test, "it knows a provider of identities and nothing of what people may do"},
		{"internal/sigv4", "github.com/aws/aws-sdk-go-v2/aws/...", "it signs for any service, with credentials that it is given"},
		{"internal/iam", "github.com/aws/aws-sdk-go-v2/aws/... github.com/aws/aws-sdk-go-v2/config internal/sigv4", "it signs requests, whatever they are"},
		{"internal/dynamo/table", core + sdk + service("dynamodb") + "internal/env", "it knows items, and not what they are about"},
		{"internal/dynamo/runners", core + "internal/dynamo/table internal/sandbox", "it knows the ports of the sandbox, and the table"},
		{"internal/dynamo", core + sdk + service("dynamodb") + "internal/dynamo/runners internal/dynamo/table internal/env internal/sandbox internal/tasklog", oneService},
		{"internal/s3", core + sdk + service("s3") + "internal/sandbox internal/tasklog", oneService},
		{"internal/sqs", core + sdk + service("sqs"), oneService},
		{"internal/ssm", core + sdk + service("ssm"), oneService},
		{"internal/sns", core + sdk + service("sns"), oneService},
		{"internal/eventbridge", core + sdk + service("eventbridge"), oneService},
		{"internal/fargate", core + sdk + service("ecs") + "internal/env internal/sandbox", oneService},
		{"internal/microvm", core + sdk + "internal/sandbox internal/sigv4", "a driver knows no other driver"},
		{"internal/lambda", core + sdk + service("lambda") + "internal/sandbox", oneService},

		{"internal/materials", "", "it reads programs, for a release and for a deploy"},
		{"internal/prices", "", "numbers, for the program and for tests"},
		{"internal/cost", core + "internal/prices internal/sandbox", "an estimate is pure: it asks nobody"},
		{"internal/awscall", "github.com/aws/aws-sdk-go-v2/aws/... internal/sigv4", "it sends requests to any service, and knows none"},
		{"internal/account", "infra/settings internal/awscall internal/env internal/prices github.com/aws/aws-sdk-go-v2/config github.com/aws/aws-sdk-go-v2/credentials" + sdk[:len(sdk)-len("internal/border ")] + service("dynamodb") + service("ecs") + service("lambda") + service("ssm") + service("sts"),
			"it looks at accounts for who deploys, and knows no part of a deployment but its settings"},

		{"internal/embedded", core + "engine/expr/... internal/datafolder internal/evaluators/... internal/executors internal/files internal/httpclient internal/meter internal/node internal/notice internal/projectfiles internal/roster internal/seal internal/sitesecret internal/sqlite internal/tasklog internal/uptime operators/all operators/run",
			"it wires the drivers of one machine: only operators link the SDK"},
		{"internal/shared", core + sdk[:len(sdk)-len("internal/border ")] + "github.com/aws/aws-sdk-go-v2/config github.com/aws/aws-sdk-go-v2/credentials internal/embedded internal/files internal/postgres internal/s3 internal/tasklog",
			"it opens what servers have together, and holds no rule"},
		{"internal/cloud", core + sdk + "github.com/aws/aws-lambda-go/events github.com/aws/aws-lambda-go/lambdacontext github.com/aws/aws-sdk-go-v2/config internal/dynamo internal/egress internal/env internal/evaluators internal/eventbridge internal/fargate internal/files internal/httpapi internal/httpapi/access " +
			"internal/httpclient internal/lambda internal/microvm internal/node internal/notice internal/oidc internal/placement internal/projectfiles internal/s3 internal/sitesecret internal/sandbox internal/seal internal/sigv4 internal/sns internal/sqs internal/ssm internal/tasklog internal/tick internal/trace/otlp internal/uploads",
			"it wires the AWS drivers: a function links the operators that it runs, and no others"},

		{"functions/agent", "internal/cloud operators/all github.com/aws/aws-lambda-go/lambda", "it runs all operators"},
		{"functions/executor", "internal/cloud operators/inline github.com/aws/aws-lambda-go/lambda", "it runs operators without I/O"},
		{"functions/api", "internal/cloud ui github.com/aws/aws-lambda-go/lambda", "it serves the page, too, and runs no operator"},
		{"functions/*", "internal/cloud github.com/aws/aws-lambda-go/lambda", "it runs no operator"},
		{"infra/settings", "internal/env gopkg.in/yaml.v3" + test, "the command line reads settings, too, and never pays for the CDK"},
		{"infra infra/deployment infra/example", "internal/env internal/materials infra/settings infra/deployment github.com/aws/aws-cdk-go/... github.com/aws/constructs-go/... github.com/aws/jsii-runtime-go github.com/cdklabs/cdk-nag-go/cdknag/v2" + test,
			"infra knows names, not programs, and pays for the CDK alone"},
		{"cmd/evaluator", "internal/evaluators/evaluator", "it evaluates expressions and knows nothing else"},
		{"internal/program", "", "it knows this process and nothing else"},
		{"internal/term", "github.com/charmbracelet/x/ansi golang.org/x/sys/... golang.org/x/term", "it writes texts, and knows nothing of what they are about"},
		{"internal/systemd", "", "it sends what it is told, and judges nothing"},
		{"internal/logstream", "internal/tasklog operators", "it writes lines of logs"},
		{"internal/taskview", "engine engine/param internal/logstream internal/tasklog internal/term operators", "it draws states, wherever they come from"},
		{"internal/remedy", "engine/dig/keys operators/run engine engine/dig engine/expr/script engine/param internal/program internal/term operators operators/all", "it reads messages, and asks nobody"},
		{"internal/manual", "docs engine/param internal/program internal/remedy internal/term operators operators/all github.com/kljensen/snowball/english", "it reads and searches the pages that are in the program"},
		{"internal/configuration", "operators/run engine/dig engine/param github.com/magiconair/properties github.com/spf13/pflag internal/egress internal/executors internal/lineage internal/logstream internal/program internal/tasklog operators", "it reads keys, and opens nothing that they name"},
		{"internal/localsecret", "operators/run internal/configuration internal/plainfile internal/program operators", "it knows the secrets of this machine, and no server's"},
		{"internal/projectfolder", "engine/dig/keys engine/dig/lint engine/dig/lint/parameters engine/dig engine/expr/script engine/param internal/check internal/configuration internal/datafolder internal/program internal/projectfiles internal/remedy internal/term operators operators/plugin", "it reads a folder, runs nothing and asks no server"},
		{"internal/localrun", core + " engine/resume operators/run internal/configuration internal/evaluators internal/executors internal/files internal/httpclient internal/lineage internal/local internal/localsecret internal/logstream internal/plainfile internal/program internal/projectfolder internal/remedy internal/scratch internal/taskview internal/term operators/all",
			"it runs a workflow of a folder in this process, without a server or its settings"},
		{"internal/serverconfig", core + "engine/expr github.com/spf13/pflag internal/certificate internal/configuration internal/datafolder internal/embedded internal/evaluators internal/files internal/gate internal/httpapi internal/httpapi/access internal/node internal/notice/... internal/oidc internal/postgres internal/program internal/projectfiles internal/shared internal/sns internal/trace/otlp github.com/aws/aws-sdk-go-v2/config github.com/aws/aws-sdk-go-v2/credentials" + sdk,
			"it reads what a server is told into the options of its parts, and starts none of them"},
		{"internal/serverrun", core + "engine/expr/script golang.org/x/sys/... internal/catalogue internal/certificate internal/check internal/configuration internal/datafolder internal/embedded internal/executors internal/files internal/gate internal/httpapi internal/httpapi/access internal/httpapi/endpoint internal/lineage internal/logstream internal/plainfile internal/program internal/projectfiles internal/projectfolder internal/retry internal/serverconfig internal/shared internal/systemd internal/tasklog internal/term ui",
			"it runs what serverconfig has read, and opens no store but by embedded and shared"},
		{"internal/connection", "github.com/magiconair/properties github.com/spf13/pflag internal/client internal/configuration internal/files internal/iam internal/plainfile internal/program internal/remedy internal/term", "it chooses a server, and asks it for names alone"},
		{"internal/attemptview", "engine engine/dig engine/param internal/client internal/program internal/remedy internal/tasklog internal/taskview internal/term operators", "it reads a server by its client, and changes nothing there"},
		{"internal/overview", "engine/dig engine/schedule internal/client", "it reads a server by its client, and changes nothing there"},
		{"internal/awscost", "engine/param infra/settings internal/account internal/client internal/cost internal/prices internal/sandbox internal/term operators operators/all", "it asks the API and the account, and prices nothing itself"},
		{"cmd/zerodag/internal/cli", "engine/dig engine/param github.com/spf13/... internal/attemptview internal/client internal/connection internal/program internal/term",
			"it is what commands share, and knows none of them"},
		{"cmd/zerodag/internal/contexts", "cmd/zerodag/internal/cli github.com/spf13/... internal/connection internal/program internal/term", "it edits files of the user, and sends nothing"},
		{"cmd/zerodag/internal/operate", "cmd/zerodag/internal/cli engine/dig engine/param github.com/spf13/... infra/settings internal/account internal/awscost internal/client internal/cost internal/localsecret internal/program internal/remedy internal/term",
			"commands are thin: they bind options, call what does the work and print"},
		{"cmd/zerodag/internal/transfer", "cmd/zerodag/internal/cli engine/schedule github.com/spf13/... internal/client internal/configuration internal/connection internal/dagu internal/digdag internal/embedded internal/host internal/httpapi/access internal/postgres internal/program internal/projectfiles internal/projectfolder internal/serverconfig internal/term",
			"commands are thin; only internal/embedded knows the databases of one server"},
		{"cmd/zerodag", core + "cmd/zerodag/internal/... docs engine/... github.com/spf13/... internal/attemptview internal/catalogue internal/catalogue/given internal/client internal/configuration internal/connection " +
			"internal/evaluators/... internal/icalendar internal/localrun internal/logstream internal/manual internal/overview internal/program internal/projectfiles internal/projectfolder internal/remedy internal/scratch internal/serverconfig internal/serverrun internal/taskview internal/term operators/all",
			"commands are thin: they bind options, call what does the work and print"},
		{"packaging", "golang.org/x/crypto/x509roots/fallback/bundle internal/materials", "it packs the program, and an image carries the root certificates that Mozilla trusts; it knows nothing of the program"},
		{".", core + "internal/catalogue internal/embedded internal/evaluators internal/httpapi internal/httpapi/access internal/node internal/projectfiles", "the engine inside a Go program is that of one machine"},
		{"integration/...", "...", "integration may import anything, and nothing imports it"},
	}
}

const oneService = "a driver links its own service, and knows no other driver"

// fits reports whether a package matches one of the names.
func fits(pkg, names string) bool {
	for name := range strings.FieldsSeq(names) {
		below, all := strings.CutSuffix(name, "/...")
		right, one := strings.CutSuffix(name, "/*")
		switch {
		case name == "..." || name == pkg,
			all && (pkg == below || strings.HasPrefix(pkg, below+"/")),
			one && filepath.Dir(pkg) == right:
			return true
		}
	}
	return false
}

// ours returns the name of one of our packages in the table, and the path of any other package unchanged.
func ours(pkg string) string {
	if pkg == "zerodag" {
		return "."
	}
	return strings.TrimPrefix(pkg, "zerodag/")
}

// TestDependencies checks that each package imports what the table allows and nothing else.
func TestDependencies(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}}:{{range .Imports}} {{.}}{{end}}", "./...").CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	used, n := map[string]bool{}, 0
	for line := range strings.Lines(string(out)) {
		name, list, _ := strings.Cut(strings.TrimSpace(line), ":")
		pkg := ours(name)
		n++
		row, found := rowOf(pkg)
		if !found {
			t.Errorf("%s fits no row of the table of imports: add one that says what it may import", name)
			continue
		}
		used[row.packages] = true
		for i := range strings.FieldsSeq(list) {
			standard := !strings.Contains(strings.SplitN(i, "/", 2)[0], ".") && i != "zerodag" && !strings.HasPrefix(i, "zerodag/")
			if !standard && !fits(ours(i), row.imports) {
				t.Errorf("%s imports %s: %s", name, i, row.why)
			}
		}
	}
	if n < 80 {
		t.Errorf("%d packages were looked at, there are more", n)
	}
	for _, row := range imports() {
		if !used[row.packages] {
			t.Errorf("no package fits the row of %s", row.packages)
		}
	}
}

func rowOf(pkg string) (allowed, bool) {
	for _, row := range imports() {
		if fits(pkg, row.packages) {
			return row, true
		}
	}
	return allowed{}, false
}

// TestTableIsClosed checks that the table refuses imports that it does not name.
func TestTableIsClosed(t *testing.T) {
	t.Parallel()
	for _, x := range [][2]string{{"internal/sqlite", "internal/dynamo"}, {"internal/sqlite", "internal/notice"}, {"operators/sh", "operators/py"}, {"operators/sh", "internal/files"},
		{"engine", "gopkg.in/yaml.v3"}, {"engine/expr", "github.com/dop251/goja"}, {"functions/api", "operators/all"}, {"internal/sns", "github.com/aws/aws-sdk-go-v2/service/sqs"},
		{"internal/delivery", "internal/catalogue"}, {"internal/host", "internal/node"}, {"cmd/zerodag", "internal/s3"}, {"internal/node", "integration/durability"}, {"cmd/runner", "golang.org/x/sys/unix"}} {
		row, found := rowOf(x[0])
		if !found || fits(x[1], row.imports) {
			t.Errorf("%s may import %s (row found: %v)", x[0], x[1], found)
		}
	}
	if row, found := rowOf("internal/another"); found {
		t.Errorf("a new package fits the row of %s", row.packages)
	}
}

// TestLinked checks that programs do not link, directly or indirectly, packages that make them large or slow.
func TestLinked(t *testing.T) {
	t.Parallel()
	const engine = "github.com/dop251/goja"
	const runtime = "zerodag/operators/run" // hosts name its types; it is not an operator
	for _, x := range []struct{ program, banned, why string }{
		{"functions/...", engine, "with it the linker keeps every method of every SDK: cmd/evaluator has it"},
		{"functions/...", "zerodag/internal/sqlite", "SQLite has no place in a function"},
		{"functions/...", "zerodag/internal/postgres", "a function keeps everything in AWS services"},
		{"functions/...", "zerodag/internal/process", "a function runs no commands: its only processes are evaluators"},
		{"functions/api", "zerodag/operators/", "it runs no operator"},
		{"functions/tick", "zerodag/operators/", "it runs no operator"},
		{"functions/upload", "zerodag/operators/", "it runs no operator"},
		{"functions/executor", "zerodag/operators/all", "it runs operators without I/O only"},
		{"cmd/evaluator", "zerodag/operators", "it evaluates expressions and knows nothing else"},
		{"cmd/evaluator", "github.com/aws/", "it evaluates expressions and knows nothing else"},
		{"cmd/zerodag", "github.com/aws/aws-lambda-go/", "the command line is no function"},
		{"cmd/zerodag", "github.com/aws/aws-cdk-go/", "only infra pays for the CDK"},
		{"engine/...", "net", "the engine does no I/O"},
		{"engine/...", "os/exec", "the engine does no I/O"},
	} {
		out, err := exec.Command("go", "list", "-deps", "zerodag/"+x.program).CombinedOutput()
		if err != nil {
			t.Fatalf("go list %s: %v\n%s", x.program, err, out)
		}
		for dep := range strings.FieldsSeq(string(out)) {
			if dep == x.banned || strings.HasSuffix(x.banned, "/") && strings.HasPrefix(dep, x.banned) && dep != runtime {
				t.Errorf("%s links %s: %s", x.program, dep, x.why)
			}
		}
	}
}

// goFiles lists the project's Go files, with or without tests.
func goFiles(t *testing.T, tests bool) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || d.Name() == "bin" || d.Name() == "dist" || d.Name() == "site" || strings.HasPrefix(d.Name(), ".") && path != ".") {
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

// TestPackageDocs checks that every package has a package comment, in exactly one file.
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

// TestNames checks that no package has a catch-all name such as util.
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

// TestTopLevel checks that nothing was added to the agreed top level of the repository.
func TestTopLevel(t *testing.T) {
	t.Parallel()
	allowed := strings.Fields(`functions infra engine operators events integration internal cmd ui docs examples packaging stages bin dist site
		cdk.json mkdocs.yml go.mod go.sum Makefile README.md CHANGELOG.md CONTRIBUTING.md LICENSE zerodag.go doc.go example_test.go deps_test.go`)
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

// TestVariablesOfCommands checks that our programs read none of the variables that describe a run to its command, and
// that the commands of a server get none of the variables that our programs read.
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
