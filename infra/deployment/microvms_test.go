package deployment

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"zerodag/infra/settings"
)

// noMicrovms checks that a stage without MicroVMs contains nothing for them.
func noMicrovms(t *testing.T, m map[string]any) {
	if text, err := json.Marshal(m); err != nil || strings.Contains(strings.ToLower(string(text)), "microvm") {
		t.Errorf("the default stage has something of MicroVMs, %v", err)
	}
}

// microvms checks the additions of a stage with MicroVMs: an image that Lambda builds as CloudFormation demands, whose
// builder reads one object and writes one log, and rights of three functions on that image only.
func microvms(t *testing.T, m map[string]any) {
	rights := map[string][]string{}
	for name, r := range resources(m) {
		p := properties(r)
		switch {
		case r["Type"] == "AWS::Lambda::MicrovmImage":
			microvmImage(t, p, r)
		case r["Type"] == "AWS::IAM::Role" && strings.HasPrefix(name, "MicrovmBuild"):
			if text := fmt.Sprint(p["AssumeRolePolicyDocument"]); !strings.Contains(text, "sts:TagSession") || !strings.Contains(text, "aws:SourceAccount") || p["ManagedPolicyArns"] != nil {
				t.Errorf("the builder's role: %v", p)
			}
		case r["Type"] == "AWS::IAM::Policy":
			for _, s := range statements(r) {
				for _, action := range texts(s["Action"]) {
					on := strings.Join(texts(s["Resource"]), " ") + fmt.Sprint(s["Resource"])
					about := (action == "lambda:ListMicrovms" || action == "lambda:PassNetworkConnector") && fmt.Sprint(s["Resource"]) == "*" ||
						strings.Contains(on, "MicrovmImage") && !slices.Contains(texts(s["Resource"]), "*")
					if strings.Contains(action, "icrovm") || strings.Contains(action, "NetworkConnector") {
						rights[action] = append(rights[action], strings.SplitN(name, "Role", 2)[0])
						if !about {
							t.Errorf("%s may %s on %s", name, action, on)
						}
					}
				}
			}
		}
	}
	for _, list := range rights {
		slices.Sort(list)
	}
	if want := map[string][]string{"lambda:RunMicrovm": {"agent", "tick"}, "lambda:GetMicrovm": {"agent", "tick"}, "lambda:ListMicrovms": {"agent", "tick"},
		"lambda:PassNetworkConnector": {"agent", "tick"}, "lambda:TerminateMicrovm": {"agent", "runners", "tick"}}; !reflect.DeepEqual(rights, want) {
		t.Errorf("rights: %v", rights)
	}
	for name, r := range resources(m) {
		if r["Type"] == "AWS::Lambda::Function" && strings.HasPrefix(name, "agent") {
			if text := fmt.Sprint(properties(r)["Environment"]); !strings.Contains(text, "MicrovmImage") || !strings.Contains(text, `"memory":512`) {
				t.Errorf("the agent's variable is %s", text)
			}
		}
	}
}

func microvmImage(t *testing.T, p, r map[string]any) {
	for _, name := range []string{"Name", "BaseImageArn", "BaseImageVersion", "BuildRoleArn", "Description", "CodeArtifact", "Logging", "EgressNetworkConnectors", "CpuConfigurations", "Resources",
		"AdditionalOsCapabilities", "Hooks", "EnvironmentVariables"} { // what the schema of the resource requires
		if p[name] == nil {
			t.Errorf("the image lacks %s", name)
		}
	}
	hooks, _ := json.Marshal(p["Hooks"])
	if p["Name"] != "zerodag-main-commands" || p["BaseImageVersion"] != "1" || fmt.Sprint(p["Resources"]) != "[map[MinimumMemoryInMiB:512]]" || fmt.Sprint(p["AdditionalOsCapabilities"]) != "[]" ||
		!strings.Contains(fmt.Sprint(p["BaseImageArn"]), ":lambda:eu-central-1:aws:microvm-image:al2023-1") || !strings.Contains(fmt.Sprint(p["Tags"]), "team") ||
		string(hooks) != `{"MicrovmHooks":{"Resume":"DISABLED","Run":"ENABLED","RunTimeoutInSeconds":10,"Suspend":"DISABLED","Terminate":"ENABLED","TerminateTimeoutInSeconds":30},`+
			`"MicrovmImageHooks":{"Ready":"ENABLED","ReadyTimeoutInSeconds":60,"Validate":"ENABLED","ValidateTimeoutInSeconds":60},"Port":9000}` {
		t.Errorf("the image is %v", p)
	}
	if !strings.Contains(fmt.Sprint(r["DependsOn"]), "MicrovmBuildDefaultPolicy") {
		t.Errorf("the image may be built before its builder has its rights: %v", r["DependsOn"])
	}
}

// TestMicrovmDockerfile checks that a user's Dockerfile gets the runner as its entry point, and that a base that Lambda
// cannot build on is refused before a deploy.
func TestMicrovmDockerfile(t *testing.T) {
	t.Parallel()
	if text, err := microvmDockerfile(settings.Default("main")); err != nil || text != microvmBase+microvmRunner {
		t.Errorf("%q, %v", text, err)
	}
	for text, want := range map[string]string{
		"FROM public.ecr.aws/lambda/microvms:al2023-minimal\nRUN x":                                                "",
		"from golang:1.26 AS build\nFROM public.ecr.aws/lambda/microvms:al2023-minimal\nCOPY --from=build /x /x\n": "",
		"FROM python:3.13-slim\n": "must start from an image of public.ecr.aws/lambda/microvms, which Lambda requires, but starts from python:3.13-slim",
		"RUN x\n":                 "has no line FROM",
	} {
		s := settings.Default("main")
		s.MicrovmDockerfile = filepath.Join(t.TempDir(), "Dockerfile")
		if err := os.WriteFile(s.MicrovmDockerfile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := microvmDockerfile(s)
		if want == "" && (err != nil || got != text+microvmRunner) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
	s := settings.Default("main")
	s.MicrovmDockerfile = filepath.Join(t.TempDir(), "none")
	if _, err := microvmDockerfile(s); err == nil || !strings.Contains(err.Error(), "microvmDockerfile") {
		t.Errorf("one that is not there: %v", err)
	}
}
