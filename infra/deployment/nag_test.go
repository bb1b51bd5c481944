package deployment

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"
	"gopkg.in/yaml.v3"

	"zerodag/infra/settings"
)

// acceptance is a reason why a pack's rules may have findings about resources.
type acceptance struct {
	Why              string
	Resources, Rules []string
	found            map[string]bool
}

// acceptances holds all reasons: findings are compared with them one by one.
type acceptances struct{ list []acceptance }

func readAcceptances(t *testing.T) *acceptances {
	t.Helper()
	text, err := os.ReadFile("testdata/accepted.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var a acceptances
	if err := yaml.Unmarshal(text, &a.list); err != nil {
		t.Fatal(err)
	}
	for i := range a.list {
		if a.list[i].found = map[string]bool{}; strings.TrimSpace(a.list[i].Why) == "" {
			t.Errorf("no reason is given for %v", a.list[i].Rules)
		}
	}
	return &a
}

// letters returns the part of a construct's name that appears in its logical ID.
func letters(name string) string {
	return regexp.MustCompile(`[^A-Za-z0-9]`).ReplaceAllString(strings.TrimPrefix(name, "Stack/"), "")
}

// accepts reports whether a finding is accepted for a reason. A finding without a resource is about all resources that
// the reason names.
func (a *acceptances) accepts(rule, resource string) bool {
	accepted := false
	for _, x := range a.list {
		for _, r := range x.Resources {
			if slices.Contains(x.Rules, rule) && (resource == "" || strings.HasPrefix(letters(resource), letters(r))) {
				x.found[rule], x.found[r], accepted = true, true, true
			}
		}
	}
	return accepted
}

// unused lists accepted rules and resources that were not found, from the packs whose rule names match.
func (a *acceptances) unused(pack *regexp.Regexp) (list []string) {
	for _, x := range a.list {
		ran := slices.DeleteFunc(slices.Clone(x.Rules), func(rule string) bool { return !pack.MatchString(rule) })
		if len(ran) == 0 {
			continue
		}
		for _, name := range slices.Concat(ran, x.Resources) {
			if !x.found[name] {
				list = append(list, fmt.Sprintf("%s is accepted (%s), and not found", name, x.Why))
			}
		}
	}
	return list
}

// finding is what a pack's rule found about a resource.
type finding struct{ rule, resource, text string }

// findings runs the packs over a stage and returns their findings.
func findings(t *testing.T, change func(*settings.Settings)) (list []finding) {
	t.Helper()
	out := t.TempDir()
	app := awscdk.NewApp(&awscdk.AppProps{Outdir: &out, Context: &map[string]any{"@aws-cdk/core:newStyleStackSynthesis": true, "@aws-cdk/aws-iam:minimizePolicies": true}})
	stack := awscdk.NewStack(app, jsii.String("Stack"), &awscdk.StackProps{Env: where})
	s := settings.Default("main")
	change(&s)
	if _, err := New(stack, s, programs(t)); err != nil {
		t.Fatal(err)
	}
	awscdk.Aspects_Of(app).Add(cdknag.NewAwsSolutionsChecks(nil), nil)
	awscdk.Aspects_Of(app).Add(cdknag.NewNIST80053R5Checks(nil), nil)
	awscdk.Aspects_Of(app).Add(cdknag.NewServerlessChecks(nil), nil)
	app.Synth(nil)
	for _, pack := range []string{"AwsSolutions", "NIST.800.53.R5", "Serverless"} {
		file, err := os.Open(filepath.Join(out, pack+"--Stack-NagReport.csv"))
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(file).ReadAll()
		file.Close()
		if err != nil || len(rows) < 50 {
			t.Fatalf("%s: %d rows of the report, %v", pack, len(rows), err)
		}
		for _, r := range rows[1:] {
			if compliance := r[2]; compliance != "Compliant" && compliance != "N/A" {
				list = append(list, finding{r[0], r[1], fmt.Sprintf("%s (%s)", r[len(r)-1], compliance)})
			}
		}
	}
	return list
}

// TestCustomerKey checks that with kmsKey, no rule about encryption has findings, and that without it, such rules do
// have findings.
func TestCustomerKey(t *testing.T) {
	defer jsii.Close()
	encryption := regexp.MustCompile(`(?i)kms|encrypt`)
	without := 0
	for _, f := range findings(t, everything) {
		if encryption.MatchString(f.rule) {
			without++
		}
	}
	if without < 10 {
		t.Errorf("the packs object to %d resources that have no customer key", without)
	}
	for _, f := range findings(t, func(s *settings.Settings) { everything(s); s.KMSKey = customerKey }) {
		if encryption.MatchString(f.rule) {
			t.Errorf("%s: %s: %s", f.rule, f.resource, f.text)
		}
	}
}

// TestNag checks that the packs AwsSolutions, NIST 800-53 and Serverless have only accepted findings, and that accepted
// ones are still found.
func TestNag(t *testing.T) {
	defer jsii.Close()
	accepted := readAcceptances(t)
	for name, change := range map[string]func(*settings.Settings){"everything": everything, "private": privateWithMicrovms} {
		for _, f := range findings(t, change) {
			if !accepted.accepts(f.rule, f.resource) {
				t.Errorf("%s: %s: %s: %s", name, f.rule, f.resource, f.text)
			}
		}
	}
	for _, problem := range accepted.unused(regexp.MustCompile(`^[A-Z]\w+-|^NIST`)) {
		t.Error(problem)
	}
}

// guardProgram returns the path of CloudFormation Guard from an npm package, which `make lint-template` installs.
func guardProgram() string {
	system := map[string]string{"linux": "ubuntu", "darwin": "macos"}[runtime.GOOS]
	processor := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	return filepath.Join(guardPackage, "bin", system, processor, "cfn-guard")
}

const guardPackage = "../_guard/node_modules/@cdklabs/cdk-validator-cfnguard"

// TestGuard checks the same for CloudFormation Guard with the rules of AWS Control Tower and, if ZERODAG_GUARD_RULES
// names a folder with them, with the rules of the Security and Reliability pillars of the Well-Architected Framework.
func TestGuard(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(guardProgram()); errors.Is(err, os.ErrNotExist) {
		if strings.Contains(os.Getenv("REQUIRE"), "guard") {
			t.Fatal(err)
		}
		t.Skip("NOT RUN: CloudFormation Guard is not installed: make lint-template")
	}
	accepted := readAcceptances(t)
	for _, pack := range []struct {
		name, folder string
		rules        *regexp.Regexp
	}{
		{"Control Tower", filepath.Join(guardPackage, "rules/control-tower/cfn-guard"), regexp.MustCompile(`^[a-z0-9_]+$`)},
		{"Well-Architected", os.Getenv("ZERODAG_GUARD_RULES"), regexp.MustCompile(`^[A-Z0-9_]+$`)},
	} {
		if pack.folder == "" {
			t.Logf("NOT RUN: rules of %s", pack.name)
			continue
		}
		for rule, resources := range guard(t, pack.folder) {
			for _, resource := range resources {
				if !accepted.accepts(rule, resource) {
					t.Errorf("%s of %s: %s", rule, pack.name, resource)
				}
			}
		}
		for _, problem := range accepted.unused(pack.rules) {
			t.Error(problem)
		}
	}
}

// guard lists the rules in a folder that the template of a release violates, with the affected resources of each.
func guard(t *testing.T, folder string) map[string][]string {
	t.Helper()
	c := exec.Command(guardProgram(), "validate", "--rules", folder, "--data", released, "--structured", "--output-format", "json", "--show-summary", "none")
	out, err := c.Output()
	var files []struct {
		NotCompliant []struct{ Rule struct{ Name string } } `json:"not_compliant"`
		Compliant    []string
	}
	if parsed := json.Unmarshal(out, &files); parsed != nil {
		t.Fatalf("%v: %v: %s", c.Args, err, out)
	}
	var details []struct {
		NotCompliant []json.RawMessage `json:"not_compliant"`
	}
	if err := json.Unmarshal(out, &details); err != nil {
		t.Fatal(err)
	}
	found, compliant := map[string][]string{}, 0
	named := regexp.MustCompile(`/Resources/(\w+)`)
	for i, file := range files {
		compliant += len(file.Compliant)
		for j, x := range file.NotCompliant {
			for _, match := range named.FindAllStringSubmatch(string(details[i].NotCompliant[j]), -1) {
				if !slices.Contains(found[x.Rule.Name], match[1]) {
					found[x.Rule.Name] = append(found[x.Rule.Name], match[1])
				}
			}
			if len(found[x.Rule.Name]) == 0 {
				found[x.Rule.Name] = []string{""} // the rule names no resource
			}
		}
	}
	if compliant < 10 {
		t.Errorf("%s: only %d rules are obeyed", folder, compliant)
	}
	return found
}

// TestLint checks that cfn-lint, the program that CFN_LINT names, finds nothing in stages that use settings that the
// template of a release does not use. It has the schemas of all resources.
func TestLint(t *testing.T) {
	program := os.Getenv("CFN_LINT")
	if program == "" {
		t.Skip("NOT RUN: CFN_LINT names no cfn-lint: make lint-template")
	}
	defer jsii.Close()
	for name, change := range map[string]func(*settings.Settings){"everything": everything, "private": privateWithMicrovms, "demanding": demanding} {
		text, err := json.Marshal(template(t, where, change))
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), name+".json")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		c := exec.Command(program, "--ignore-checks", "W3005", "--regions", "us-east-1", "eu-west-1", "--template", file)
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", c.Args, err, out)
		}
	}
}

// TestAcceptances checks that only listed findings are accepted, and that listed findings that no longer occur are
// detected.
func TestAcceptances(t *testing.T) {
	t.Parallel()
	a := acceptances{[]acceptance{{Why: "x", Resources: []string{"Archives/Policy", "Logs"}, Rules: []string{"Pack-S1", "Pack-S2", "other_check"}, found: map[string]bool{}}}}
	for _, x := range []struct {
		rule, resource string
		want           bool
	}{{"Pack-S1", "Stack/Archives/Policy/Resource", true}, {"Pack-S1", "ArchivesPolicy1A2B3C4D", true}, {"Pack-S1", "Stack/Archives/Resource", false}, {"Pack-S1", "Stack/MyLogs", false}, {"Pack-S3", "Stack/Logs", false}} {
		if got := a.accepts(x.rule, x.resource); got != x.want {
			t.Errorf("%s of %s: %t, want %t", x.rule, x.resource, got, x.want)
		}
	}
	if got := strings.Join(a.unused(regexp.MustCompile("^Pack-")), "\n"); !strings.Contains(got, "Pack-S2 is accepted") || !strings.Contains(got, "Logs is accepted") || strings.Contains(got, "Pack-S1") || strings.Contains(got, "other") {
		t.Error(got)
	}
}
