package account_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"zerodag/infra/settings"
	"zerodag/internal/account"
)

// fake is an account that answers as AWS does.
type fake struct {
	mu                      sync.Mutex
	table, role, throughput bool
	bootstrap               string // "" is none
	concurrency, free       int
	cpus, vpcQuota          float64
	vpcs                    int
	tasks                   map[string]string // status by ARN
	denied                  string            // an operation that the credentials may not call
	cluster                 bool
	calls                   []string
}

func healthy() *fake {
	return &fake{role: true, throughput: true, bootstrap: "21", concurrency: 1000, free: 1000, cpus: 140, vpcQuota: 5, vpcs: 1, cluster: true}
}

// refusal is an error in the forms of the protocols.
func refusal(w http.ResponseWriter, status int, code string, asXML bool) {
	w.Header().Set("X-Amzn-Errortype", code)
	w.WriteHeader(status)
	if asXML {
		fmt.Fprintf(w, `<ErrorResponse><Error><Code>%s</Code><Message>no</Message></Error></ErrorResponse>`, code)
		return
	}
	fmt.Fprintf(w, `{"__type":%q,"message":"no"}`, code)
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	form, _ := url.ParseQuery(string(body))
	var in map[string]any
	_ = json.Unmarshal(body, &in)
	name := form.Get("Action")
	if _, target, ok := strings.Cut(r.Header.Get("X-Amz-Target"), "."); ok {
		name = target
	} else if name == "" {
		name = r.Method + " " + r.URL.Path
	}
	f.calls = append(f.calls, name)
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	if !strings.Contains(r.Header.Get("Authorization"), "Signature=") {
		refusal(w, 403, "MissingAuthenticationToken", true)
		return
	}
	if name == f.denied {
		refusal(w, 403, "AccessDeniedException", form.Get("Action") != "")
		return
	}
	f.answer(w, name, in, form)
}

func (f *fake) answer(w http.ResponseWriter, name string, in map[string]any, form url.Values) {
	print := func(format string, a ...any) { fmt.Fprintf(w, format, a...) }
	exists := func(there bool, status int, code string, asXML bool, format string, a ...any) {
		if !there {
			refusal(w, status, code, asXML)
			return
		}
		print(format, a...)
	}
	switch name {
	case "GetCallerIdentity":
		print(`<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>arn:aws:iam::111111111111:user/me</Arn><Account>111111111111</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`)
	case "DescribeTable":
		exists(f.table, 400, "ResourceNotFoundException", false, `{"Table":{"TableName":"t"}}`)
	case "GetParameter":
		exists(f.bootstrap != "", 400, "ParameterNotFound", false, `{"Parameter":{"Value":%q}}`, f.bootstrap)
	case "GetServiceSetting":
		print(`{"ServiceSetting":{"SettingValue":"%t"}}`, f.throughput)
	case "GET /2016-08-19/account-settings", "GET /2016-08-19/account-settings/":
		print(`{"AccountLimit":{"ConcurrentExecutions":%d,"UnreservedConcurrentExecutions":%d}}`, f.concurrency, f.free)
	case "GetRole":
		exists(f.role, 404, "NoSuchEntity", true, `<GetRoleResponse><GetRoleResult><Role><RoleName>x</RoleName></Role></GetRoleResult></GetRoleResponse>`)
	case "CreateServiceLinkedRole":
		f.role = true
		print(`<CreateServiceLinkedRoleResponse><CreateServiceLinkedRoleResult><Role><RoleName>x</RoleName></Role></CreateServiceLinkedRoleResult></CreateServiceLinkedRoleResponse>`)
	case "GetServiceQuota":
		refusal(w, 400, "NoSuchResourceException", false)
	case "GetAWSDefaultServiceQuota":
		value := f.cpus
		if in["ServiceCode"] == "vpc" {
			value = f.vpcQuota
		}
		print(`{"Quota":{"Value":%g}}`, value)
	case "DescribeVpcs":
		f.list(w, form.Get("NextToken"))
	default:
		f.machine(w, name, in)
	}
}

// list has two VPCs on each page.
func (f *fake) list(w io.Writer, token string) {
	from, next := 0, ""
	fmt.Sscan(token, &from)
	fmt.Fprint(w, `<DescribeVpcsResponse><vpcSet>`)
	for i := from; i < min(from+2, f.vpcs); i++ {
		fmt.Fprintf(w, `<item><vpcId>vpc-%d</vpcId></item>`, i)
	}
	if from+2 < f.vpcs {
		next = fmt.Sprint(from + 2)
	}
	fmt.Fprintf(w, `</vpcSet><nextToken>%s</nextToken></DescribeVpcsResponse>`, next)
}

// machine answers for ECS and the switches of functions. A task that is stopped takes a look more.
func (f *fake) machine(w http.ResponseWriter, name string, in map[string]any) {
	switch name {
	case "PUT /2017-10-31/functions/zerodag-main-agent/concurrency":
		fmt.Fprint(w, `{"ReservedConcurrentExecutions":0}`)
	case "ListTasks":
		if !f.cluster {
			refusal(w, 400, "ClusterNotFoundException", false)
			return
		}
		list := []string{}
		for arn, status := range f.tasks {
			if (status == "RUNNING") == (in["desiredStatus"] == "RUNNING") {
				list = append(list, arn)
			}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"taskArns": list})
	case "DescribeTasks":
		var list []map[string]any
		for _, arn := range in["tasks"].([]any) {
			list = append(list, map[string]any{"taskArn": arn, "lastStatus": f.tasks[arn.(string)]})
			if f.tasks[arn.(string)] == "STOPPING" {
				f.tasks[arn.(string)] = "STOPPED"
			}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"tasks": list})
	case "StopTask":
		f.tasks[in["task"].(string)] = "STOPPING"
		fmt.Fprint(w, `{}`)
	default: // a function that is not there
		refusal(w, 404, "ResourceNotFoundException", false)
	}
}

// transport answers without a network, so that time can be simulated.
type transport struct{ http.Handler }

func (h transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result(), nil
}

func open(t *testing.T, f *fake) *account.Account {
	t.Helper()
	c := aws.Config{Region: "eu-central-1", Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""), RetryMaxAttempts: 1, HTTPClient: &http.Client{Transport: transport{f}}}
	return account.New(c)
}

// TestDoctor proves what is said of an account: one line for each check, with what to change, and a
// failure for what makes a deploy fail, and for nothing else.
func TestDoctor(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		account func(*fake)
		stage   func(*settings.Settings)
		check   string
		level   account.Level
		says    string
	}{
		"bootstrapped":           {check: "bootstrap", level: account.OK, says: "version 21"},
		"not bootstrapped":       {account: func(f *fake) { f.bootstrap = "" }, check: "bootstrap", level: account.Fail, says: "bootstrap aws://111111111111/eu-central-1"},
		"old bootstrap":          {account: func(f *fake) { f.bootstrap = "5" }, check: "bootstrap", level: account.Fail, says: "version 5, and 6 is needed"},
		"strange bootstrap":      {account: func(f *fake) { f.bootstrap = "new" }, check: "bootstrap", level: account.Fail, says: "version new"},
		"may not ask":            {account: func(f *fake) { f.denied = "GetParameter" }, check: "bootstrap", level: account.Unknown, says: "AccessDenied"},
		"enough concurrency":     {check: "concurrency", level: account.OK, says: "takes up to 170"},
		"new account":            {account: func(f *fake) { f.concurrency, f.free = 10, 10 }, check: "concurrency", level: account.Advice, says: "agents: 2"},
		"reserved by others":     {account: func(f *fake) { f.free = 100 }, check: "concurrency", level: account.Advice, says: "agents: 53"},
		"reserves too much":      {account: func(f *fake) { f.free = 269 }, stage: func(s *settings.Settings) { s.Reserve = true }, check: "concurrency", level: account.Fail, says: "reserve: false"},
		"reserves what is there": {account: func(f *fake) { f.free = 270 }, stage: func(s *settings.Settings) { s.Reserve = true }, check: "concurrency", level: account.OK},
		"role":                   {check: "ecs role", level: account.OK},
		"no role":                {account: func(f *fake) { f.role = false }, check: "ecs role", level: account.Fail, says: "create-service-linked-role"},
		"no machines":            {account: func(f *fake) { f.role = false }, stage: func(s *settings.Settings) { s.Commands = "none" }, check: "ecs role"},
		"vCPUs":                  {check: "fargate", level: account.OK, says: "140 machines of 1"},
		"few vCPUs":              {account: func(f *fake) { f.cpus = 6 }, check: "fargate", level: account.Advice, says: "6 machines"},
		"too few vCPUs":          {account: func(f *fake) { f.cpus = 2 }, stage: func(s *settings.Settings) { s.CommandCPU, s.Spot = 4096, true }, check: "fargate", level: account.Fail, says: "L-36FBB829"},
		"room for a VPC":         {account: func(f *fake) { f.vpcs = 4 }, check: "vpcs", level: account.OK, says: "4 of 5"},
		"no room for a VPC":      {account: func(f *fake) { f.vpcs = 5 }, check: "vpcs", level: account.Fail, says: "vpc: default"},
		"default VPC":            {account: func(f *fake) { f.vpcs = 5 }, stage: func(s *settings.Settings) { s.VPC = settings.DefaultVPC }, check: "vpcs"},
		"deployed already":       {account: func(f *fake) { f.vpcs, f.table = 5, true }, check: "vpcs"},
		"VPCs may not be listed": {account: func(f *fake) { f.denied = "DescribeVpcs" }, check: "vpcs", level: account.Unknown, says: "status 403"},
		"high throughput":        {check: "secrets", level: account.OK},
		"40 secrets a second":    {account: func(f *fake) { f.throughput = false }, check: "secrets", level: account.Advice, says: "update-service-setting"},
		"a stage that is new":    {check: "stage", level: account.OK, says: "not deployed yet"},
		"a stage that is there":  {account: func(f *fake) { f.table = true }, check: "stage", level: account.OK, says: "its table is there"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, s := healthy(), settings.Default("main")
			if x.account != nil {
				x.account(f)
			}
			if x.stage != nil {
				x.stage(&s)
			}
			list, err := open(t, f).Doctor(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			var level account.Level
			for _, c := range list {
				if c.Check == x.check {
					level = c.Level
					if text := c.What + " " + c.Change; !strings.Contains(text, x.says) {
						t.Errorf("%s, want %s", text, x.says)
					}
				} else if c.Level == account.Fail && x.level != "" {
					t.Errorf("also: %+v", c)
				}
			}
			if level != x.level {
				t.Errorf("%q, want %q: %+v", level, x.level, list)
			}
		})
	}
	f := healthy()
	f.denied = "GetCallerIdentity"
	if list, err := open(t, f).Doctor(t.Context(), settings.Default("main")); err == nil {
		t.Errorf("nobody answers: %+v", list)
	}
	f = healthy()
	f.denied = "DescribeTable"
	if _, err := open(t, f).Doctor(t.Context(), settings.Default("main")); err == nil {
		t.Error("what may not be asked was taken for no")
	}
}

// TestCreateRole proves that ECS gets its role once.
func TestCreateRole(t *testing.T) {
	t.Parallel()
	f := healthy()
	f.role = false
	a := open(t, f)
	for range 2 {
		if err := a.CreateRole(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if calls := strings.Join(f.calls, " "); calls != "GetRole CreateServiceLinkedRole GetRole" {
		t.Error(calls)
	}
	f = healthy()
	f.denied = "GetRole"
	if err := open(t, f).CreateRole(t.Context()); err == nil {
		t.Error("a role that may not be looked for was taken to be there")
	}
}

// TestStop proves that a stage which is switched off has no machine left, those that were stopping
// already included, and that nothing launches another.
func TestStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := healthy()
		f.tasks = map[string]string{"arn:a": "RUNNING", "arn:b": "RUNNING", "arn:c": "STOPPED"}
		n, err := open(t, f).Stop(t.Context(), "main")
		if err != nil || n != 2 {
			t.Errorf("%d machines were stopped, %v", n, err)
		}
		for arn, status := range f.tasks {
			if status != "STOPPED" {
				t.Errorf("%s is %s", arn, status)
			}
		}
		if calls := strings.Join(f.calls, " "); !strings.HasPrefix(calls, "PUT /2017-10-31/functions/zerodag-main-agent/concurrency PUT /2017-10-31/functions/zerodag-main-tick/concurrency ListTasks") {
			t.Error(calls)
		}
	})
	f := healthy()
	f.cluster = false
	if n, err := open(t, f).Stop(t.Context(), "none"); n != 0 || err != nil {
		t.Errorf("a stage that is not there: %d, %v", n, err)
	}
}
