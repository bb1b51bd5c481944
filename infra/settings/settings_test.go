package settings_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/infra/settings"
)

var rewrite = flag.Bool("rewrite", false, "write stages/example.yaml and stages/schema.json anew")

const role = "arn:aws:iam::111111111111:role/x"

// TestDefaults checks that an empty file and a file with all defaults are valid.
func TestDefaults(t *testing.T) {
	t.Parallel()
	if err := settings.Default("main").Validate(); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"", "# nothing\n", "---\n", "{}", settings.Example()} {
		s, err := settings.Parse("f", []byte(text), "main")
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if diff := cmp.Diff(settings.Default("main"), s, cmp.Comparer(func(a, b []string) bool { return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b) }),
			cmp.Comparer(func(a, b map[string]string) bool { return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b) })); diff != "" {
			t.Errorf("%.20q: %s", text, diff)
		}
	}
}

// TestDescribed checks that the example and the schema next to the stages' files describe the settings that are read.
func TestDescribed(t *testing.T) {
	t.Parallel()
	for name, got := range map[string]string{"example.yaml": settings.Example(), "schema.json": settings.Schema()} {
		file := filepath.Join("..", "..", "stages", name)
		if *rewrite {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s is old; `go test ./infra/settings -rewrite` writes it:\n%s", file, diff)
		}
	}
	of := reflect.TypeFor[settings.Settings]()
	for i := range of.NumField() {
		if f := of.Field(i); f.Tag.Get("yaml") != "-" && (f.Tag.Get("yaml") == "" || f.Tag.Get("doc") == "") {
			t.Errorf("%s has no name or no comment", f.Name)
		}
	}
}

// TestRead checks what a file may contain, and that nothing in it is silently ignored.
func TestRead(t *testing.T) {
	t.Parallel()
	s, err := settings.Parse("f", []byte("memory: 1024\nreserve: true\ntags: {team: data}\ntaskRoles: [0/sales="+role+"]\nhostedZone: {id: Z1, name: example.com}\n"), "prod")
	if err != nil || s.Stage != "prod" || s.Memory != 1024 || !s.Reserve || s.Tags["team"] != "data" || len(s.TaskRoles) != 1 || s.HostedZone.ID != "Z1" || s.Agents != 100 {
		t.Errorf("%+v, %v", s, err)
	}
	for text, want := range map[string]string{
		"memroy: 512":             `f:1: unknown setting "memroy" (did you mean memory?)`,
		"# x\nAgents: 5":          `f:2: unknown setting "Agents" (did you mean agents?)`,
		"colour: red":             `f:1: unknown setting "colour"`,
		"stage: prod":             `f:1: unknown setting "stage"`,
		"adopt: true":             `f:1: unknown setting "adopt"`,
		"memory: 1\nmemory: 2":    "f:2: memory is already set in line 1",
		"memory: lots":            `f:1: memory must be a whole number but is "lots"`,
		"memory: 5.5":             "memory must be a whole number",
		"memory:":                 "f:1: memory must be a single value",
		"memory: [1]":             "memory must be a single value",
		"spot: yes":               `spot must be true or false but is "yes"`,
		"subnets: subnet-1":       "f:1: subnets must be a list of strings",
		"subnets: [[subnet-1]]":   "subnets must be a list of strings",
		"tags: team=data":         "tags must be a mapping of strings",
		"tags: {a: {b: c}}":       "tags must be a mapping of strings",
		"hostedZone: {zone: Z1}":  `f:1: unknown setting "zone"`,
		"hostedZone: Z1":          "settings must be a mapping",
		"- memory":                "f:1: settings must be a mapping",
		"memory: 512\n---\nx: 1":  "a single document",
		"memory: {":               "f: yaml",
		"a: &a 1\nmemory: *a":     `unknown setting "a"`,
		"<<: {memory: 1}":         `unknown setting "<<"`,
		"memory: &m 512\nagents:": "agents must be a single value",
	} {
		if _, err := settings.Parse("f", []byte(text), "main"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestFiles checks that the file of a stage is found by its name, and that its settings are checked together.
func TestFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if _, err := settings.Read(folder, "prdo"); !errors.Is(err, settings.ErrNoFile) || !strings.Contains(err.Error(), "prdo.yaml") || !strings.Contains(err.Error(), "example.yaml") {
		t.Errorf("a stage without a file: %v", err)
	}
	for stage, text := range map[string]string{"prod": "agents: 20\n", "bad": "agents: 1\n"} {
		if err := os.WriteFile(settings.File(folder, stage), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if s, err := settings.Read(folder, "prod"); err != nil || s.Agents != 20 || s.EventConcurrency() != 10 {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := settings.Read(folder, "bad"); err == nil || !strings.Contains(err.Error(), "bad.yaml: agents must be a number between 2 and 1000 but is 1") {
		t.Error(err)
	}
	if err := os.Mkdir(settings.File(folder, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := settings.Read(folder, "folder"); err == nil || errors.Is(err, settings.ErrNoFile) {
		t.Errorf("a file that cannot be read: %v", err)
	}
}

// TestStages checks that a stage has the settings of its file, overridden by parameters, and that a mistyped stage or
// parameter deploys nothing.
func TestStages(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "prod.yaml"), []byte("agents: 20\nmemory: 1024\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		parameters     map[string]string
		stage          string
		agents, memory int
		wrong          string
	}{
		{map[string]string{}, "main", 100, 512, ""},
		{map[string]string{"stage": "prod"}, "prod", 20, 1024, ""},
		{map[string]string{"stage": "prod", "memory": "256"}, "prod", 20, 256, ""},
		{map[string]string{"stage": "e2e", "file": "none", "agents": "4"}, "e2e", 4, 512, ""},
		{map[string]string{"stage": "prod", "file": "none"}, "prod", 100, 512, ""},
		{map[string]string{"stage": "prdo"}, "", 0, 0, "prdo.yaml"},
		{map[string]string{"stgae": "prod"}, "", 0, 0, `unknown setting "stgae"`},
		{map[string]string{"stage": "prod", "adopt": "true"}, "", 0, 0, `unknown setting "adopt"`},
		{map[string]string{"stage": "prod", "memory": "1"}, "", 0, 0, "memory must be"},
		{map[string]string{"file": "other"}, "", 0, 0, "file must be none"},
		{map[string]string{"stage": "../prod"}, "", 0, 0, "stage must be at most 18 lower-case letters"},
	} {
		s, err := settings.ReadContext(folder, x.parameters)
		if x.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), x.wrong) {
				t.Errorf("%v: %v, want %s", x.parameters, err, x.wrong)
			}
			continue
		}
		if err != nil || s.Stage != x.stage || s.Agents != x.agents || s.Memory != x.memory {
			t.Errorf("%v: %+v, %v", x.parameters, s, err)
		}
	}
}

// TestContext checks that the arguments of the cdk command give the same settings as the command itself.
func TestContext(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]map[string]string{
		"":                                      {},
		"-c agents=2":                           {"agents": "2"},
		"--context agents=2 -cspot=true -c=a=b": {"agents": "2", "spot": "true", "a": "b"},
		"--require-approval never --context=tags=a=b -c agents=2 -c agents=3": {"tags": "a=b", "agents": "3"},
		"-c @aws-cdk/core:x=true -c notices=false -c flag -v":                 {},
		"-c": {},
	} {
		if got := settings.Context(strings.Fields(text)); !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// TestOverride checks that a context parameter can set the same values as a file, and is read as strictly.
func TestOverride(t *testing.T) {
	t.Parallel()
	s := settings.Default("main")
	for name, text := range map[string]string{"memory": "1024", "spot": "true", "tags": "a=b,c=d=e", "subnets": "subnet-a,subnet-b", "hostedZone": "{id: Z1, name: example.com}", "repositories": "", "vpc": "vpc-1"} {
		if err := s.Override(name, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s.Memory != 1024 || !s.Spot || s.Tags["c"] != "d=e" || len(s.Subnets) != 2 || s.HostedZone.Name != "example.com" || len(s.Repositories) != 0 || s.VPC != "vpc-1" {
		t.Errorf("%+v", s)
	}
	for name, want := range map[string]string{"stgae": `unknown setting "stgae"`, "memroy": "did you mean memory?", "memory": "memory must be a whole number", "tags": "name=value",
		"spot": "spot must be true or false", "hostedZone": "settings must be a mapping"} {
		if err := s.Override(name, "many"); err == nil || !strings.Contains(err.Error(), want) || strings.HasPrefix(err.Error(), "0") {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

// TestWrong checks that each invalid combination of settings gives one clear error.
func TestWrong(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*settings.Settings){
		"stage must be at most 18 lower-case letters":          func(s *settings.Settings) { s.Stage = "No Good" },
		"architecture must be arm64 or x86_64":                 func(s *settings.Settings) { s.Architecture = "mips" },
		"memory must be a number between 256 and":              func(s *settings.Settings) { s.Memory = 12 },
		"oidcClient, oidcAddress and oidcGrants must be given": func(s *settings.Settings) { s.OIDCGrants = []string{"@example.com=viewer"} },
		"oidcIssuer must be a URL that begins with https://":   func(s *settings.Settings) { s.OIDCIssuer, s.OIDCAddress = "http://id.example.com", "https://a" },
		"oidcAddress must be a URL that begins with https://":  func(s *settings.Settings) { s.OIDCIssuer = "https://id.example.com" },
		"oidcIssuer must be given together with oidcClient": func(s *settings.Settings) {
			s.OIDCIssuer, s.OIDCAddress, s.OIDCClient = "https://id.example.com", "https://a", "c"
		},
		"oidcGrants must be WHO=ROLE": func(s *settings.Settings) {
			s.OIDCIssuer, s.OIDCAddress, s.OIDCClient, s.OIDCGrants = "https://id.example.com", "https://a", "c", []string{"@example.com=viewer", "everybody=viewer"}
		},
		"iamGrants must be ARN=ROLE": func(s *settings.Settings) { s.IAMGrants = []string{"arn:aws:iam::111122223333:role/*=viewer"} },
		"iamGrants must name each principal once": func(s *settings.Settings) {
			s.IAMGrants = []string{"arn:aws:iam::111122223333:role/a=viewer", "arn:aws:iam::111122223333:role/b=viewer", "arn:aws:iam::111122223333:role/a=owner/3"}
		},
		"cognitoDomain must be given together":           func(s *settings.Settings) { s.CognitoDomain = "x" },
		"remove oidcIssuer and oidcClient":               func(s *settings.Settings) { s.Cognito, s.OIDCIssuer = true, "https://id.example.com" },
		"cognitoDomain must not contain aws":             func(s *settings.Settings) { s.Cognito, s.Stage = true, "aws-test" },
		"cognitoDomain must be at most 63 lower-case":    func(s *settings.Settings) { s.Cognito, s.CognitoDomain = true, "My_Team" },
		"cognitoMfa must be optional or required or off": func(s *settings.Settings) { s.Cognito, s.CognitoMFA = true, "sms" },
		"must name groups as Cognito allows them":        func(s *settings.Settings) { s.Cognito, s.OIDCGrants = true, []string{"group:data admins=admin"} },
		"oidcGrants must be WHO=ROLE, WHO=ROLE/SITE":     func(s *settings.Settings) { s.Cognito, s.OIDCGrants = true, []string{"group:a=boss"} },
		"warmThroughput must be 0 or at least 4000":      func(s *settings.Settings) { s.WarmThroughput = 3999 },
		"domain must be given together":                  func(s *settings.Settings) { s.Domain = "x.example.com" },
		"hostedZone must have an id":                     func(s *settings.Settings) { s.HostedZone.ID = "Z1" },
		"hostedZone must be the zone of domain":          func(s *settings.Settings) { s.HostedZone = settings.Zone{ID: "Z1", Name: "example.com"} },
		"subnets must be IDs":                            func(s *settings.Settings) { s.VPC, s.Subnets = "vpc-1", []string{"a"} },
		"vpc must be default, or an ID":                  func(s *settings.Settings) { s.VPC = "vpc-1" },
		"must be given together with vpc":                func(s *settings.Settings) { s.VPC, s.Subnets = settings.DefaultVPC, []string{"subnet-1"} },
		"commandSecurityGroups must be given":            func(s *settings.Settings) { s.CommandSecurityGroups = []string{"sg-1"} },
		"vpc: default is only for machines":              func(s *settings.Settings) { s.VPC, s.Commands = settings.DefaultVPC, "none" },
		"taskRoles":                                      func(s *settings.Settings) { s.TaskRoles = []string{"sales=" + role} },
		"machinesUrl must be api or domain":              func(s *settings.Settings) { s.MachinesURL = "elsewhere" },
		"machinesUrl: domain requires domain":            func(s *settings.Settings) { s.MachinesURL = "domain" },
		"api: private must be given together":            func(s *settings.Settings) { s.APIEndpoints = []string{"vpce-1"} },
		"together with apiEndpoints":                     func(s *settings.Settings) { s.API = "private" },
		"api: private requires domain": func(s *settings.Settings) {
			s.API, s.APIEndpoints, s.Domain, s.Certificate = "private", []string{"vpce-1"}, "x.example.com", "arn:aws:acm:eu-central-1:111111111111:certificate/x"
		},
		"hostedZone is only for a public API": func(s *settings.Settings) {
			s.API, s.APIEndpoints, s.Domain, s.Certificate, s.MachinesURL = "private", []string{"vpce-1"}, "x.example.com", "arn:aws:acm:eu-central-1:111111111111:certificate/x", "domain"
			s.HostedZone = settings.Zone{ID: "Z1", Name: "example.com"}
		},
		"apiEndpoints must be IDs":                    func(s *settings.Settings) { s.APIEndpoints = []string{"vpc-1"} },
		"domainOnly requires domain":                  func(s *settings.Settings) { s.DomainOnly = true },
		"microvms must be none or allowed or default": func(s *settings.Settings) { s.Microvms = "yes" },
		"microvms requires commands: fargate":         func(s *settings.Settings) { s.Microvms, s.Commands = "allowed", "none" },
		"microvmMemory must be 512, 1024":             func(s *settings.Settings) { s.MicrovmMemory = 1000 },
		"microvmBaseVersion must be":                  func(s *settings.Settings) { s.MicrovmBaseVersion = "" },
		"microvmConnector must be the ARN":            func(s *settings.Settings) { s.MicrovmConnector = "vpc" },
		"and machinesUrl: domain if commands run": func(s *settings.Settings) {
			s.DomainOnly, s.Domain, s.Certificate = true, "x.example.com", "arn:aws:acm:eu-central-1:111111111111:certificate/x"
		},
		"metricsOf must name projects":                                 func(s *settings.Settings) { s.MetricsOf = []string{"sales/"} },
		"gradual must be none or AllAtOnce or Canary10Percent5Minutes": func(s *settings.Settings) { s.Gradual = "Canary20Percent5Minutes" },
		"traces must be none, xray or a URL":                           func(s *settings.Settings) { s.Traces = "http://collector:4318" },
		"kmsKey must be the ARN of a key":                              func(s *settings.Settings) { s.KMSKey = "alias/data" },
		"cloudWatchDays must be a retention that CloudWatch accepts":   func(s *settings.Settings) { s.CloudWatchDays = 31 },
		"cloudWatchDays must be a number between 1 and 3653":           func(s *settings.Settings) { s.CloudWatchDays = 0 },
		"fetchImage must name an image":                                func(s *settings.Settings) { s.FetchImage = "a b" },
		"image must name an image":                                     func(s *settings.Settings) { s.Image = "" },
		"repositories must be names of repositories, or ARNs":          func(s *settings.Settings) { s.Repositories = []string{"arn:aws:ecr:eu-central-1:1:repository/x"} },
		"pullThrough must be prefixes":                                 func(s *settings.Settings) { s.PullThrough = []string{"ecr-public/*"} },
		"names of tags must be":                                        func(s *settings.Settings) { s.Tags = map[string]string{"aws:x": "y"} },
		"values of tags must be at most 256 letters":                   func(s *settings.Settings) { s.Tags = map[string]string{"x": "a;b"} },
		"at most 40 tags are allowed": func(s *settings.Settings) {
			s.Tags = map[string]string{}
			for i := range 41 {
				s.Tags[fmt.Sprint("t", i)] = ""
			}
		},
		"busEvents must be all or ends or":                 func(s *settings.Settings) { s.BusEvents = "some" },
		"permissionsBoundary must be the name of a policy": func(s *settings.Settings) { s.Boundary = "arn:aws:iam::111111111111:policy/limit" },
	} {
		s := settings.Default("main")
		change(&s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestUserPool checks that a user pool only needs to be enabled, that its groups are the groups of the grants, and that
// by default a user has a role only through a group.
func TestUserPool(t *testing.T) {
	t.Parallel()
	s := settings.Default("main")
	s.Cognito = true
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
	if got := strings.Join(s.Groups(), " "); got != "owner admin developer operator viewer" {
		t.Errorf("groups %q", got)
	}
	s.OIDCGrants = []string{"group:a=b=admin", "boss@example.com=owner", "group:team=viewer", "group:a=b=viewer/2"}
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
	if got := strings.Join(s.Groups(), " "); got != "a=b team" {
		t.Errorf("groups %q", got)
	}
	if s.Cognito = false; len(s.Grants()) != 4 || len(settings.Default("main").Grants()) != 0 {
		t.Error("a stage without a user pool has grants that nobody gave")
	}
}

// FuzzParse checks that no text in a file or parameter does anything worse than cause an error.
func FuzzParse(f *testing.F) {
	f.Add(settings.Example(), "memory", "512")
	f.Add("tags: {a: b}\n", "tags", "a=b")
	f.Add("a: &a [*a]", "hostedZone", "{id: 1}")
	f.Add("memory: *x", "subnets", "subnet-1,,")
	f.Fuzz(func(t *testing.T, text, name, value string) {
		s, err := settings.Parse("f", []byte(text), "main")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f:") {
				t.Errorf("%q: the error names no file: %v", text, err)
			}
			s = settings.Default("main")
		}
		_ = s.Override(name, value)
		_ = s.Validate()
	})
}
