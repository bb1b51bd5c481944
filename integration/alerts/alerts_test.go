package alerts

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// read reads a YAML file.
func read(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

const rules = "../../packaging/files/alerts.yaml"

// TestEveryRuleIsTested checks that the recorded series make each alert fire at one time, and none at another.
func TestEveryRuleIsTested(t *testing.T) {
	t.Parallel()
	var defined struct {
		Groups []struct{ Rules []struct{ Alert string } }
	}
	var recorded struct {
		Tests []struct {
			Alerts []struct {
				Name string     `yaml:"alertname"`
				Want []struct{} `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	read(t, rules, &defined)
	read(t, "rules.yaml", &recorded)
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, x := range recorded.Tests {
		for _, a := range x.Alerts {
			if len(a.Want) > 0 {
				fires[a.Name] = true
			} else {
				silent[a.Name] = true
			}
		}
	}
	n := 0
	for _, g := range defined.Groups {
		for _, r := range g.Rules {
			n++
			if !fires[r.Alert] || !silent[r.Alert] {
				t.Errorf("%s: recorded series that make it fire: %t, that do not: %t", r.Alert, fires[r.Alert], silent[r.Alert])
			}
		}
	}
	if n < 15 {
		t.Errorf("%d rules, there are more", n)
	}
}

// TestRules checks that each rule fires for the recorded series when it should, with the expected labels and text.
func TestRules(t *testing.T) {
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		if strings.Contains(os.Getenv("REQUIRE"), "promtool") {
			t.Fatal(err)
		}
		t.Skip("NOT RUN: there is no promtool; `make test-alerts` installs it")
	}
	for _, args := range [][]string{{"check", "rules", rules}, {"test", "rules", "rules.yaml"}} {
		if text, err := exec.Command(promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, text)
		}
	}
}
