package account_test

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"zerodag/infra/settings"
	"zerodag/integration/localstack"
	"zerodag/integration/microvmfake"
	"zerodag/internal/account"
	"zerodag/internal/env"
	"zerodag/internal/microvm"
	"zerodag/internal/sandbox"
	"zerodag/operators"
)

// fake is an account that responds the way AWS does.
type fake struct {
	mu                      sync.Mutex
	table, role, throughput bool
	bootstrap               string // "": there is none
	concurrency, free       int
	programs                int // how many MB of code Lambda stores, out of 75,000 allowed
	reserved                int // the reserved concurrency of each of the stage's functions; 0: not deployed
	cpus, vpcQuota          float64
	vpcs                    int
	tasks                   map[string]string // status by ARN
	denied                  string            // an operation that the credentials may not call
	vpcWithEndpoint         string            // the VPC with an endpoint for execute-api
	privateNames            bool              // that endpoint has private DNS names
	entrances               map[string]string // service and state of endpoints for execute-api, by id
	cluster                 bool
	images                  []string // versions of the MicroVM base image with their status; nil: the region has none
	noImages                int      // HTTP status of the response about images if there are none
	microvms                string   // ARN of the stage's MicroVM image
	template                string   // the template of the stage's stack; "": no stack
	set                     []string // the reserved concurrency that functions were set to
	calls                   []string
}

func healthy() *fake {
	return &fake{role: true, throughput: true, bootstrap: "21", concurrency: 1000, free: 1000, cpus: 140, vpcQuota: 5, vpcs: 1, cluster: true}
}

// refusal responds with an error in the protocol's format.
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
	f.answer(w, name, in, form, r.URL.Query())
}

func (f *fake) answer(w http.ResponseWriter, name string, in map[string]any, form, query url.Values) {
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
		exists(f.bootstrap != "" && strings.Contains(fmt.Sprint(in["Name"]), "hnb659fds"), 400, "ParameterNotFound", false, `{"Parameter":{"Value":%q}}`, f.bootstrap)
	case "GetServiceSetting":
		print(`{"ServiceSetting":{"SettingValue":"%t"}}`, f.throughput)
	case "GET /2016-08-19/account-settings", "GET /2016-08-19/account-settings/":
		print(`{"AccountLimit":{"ConcurrentExecutions":%d,"UnreservedConcurrentExecutions":%d,"TotalCodeSize":75000000000},"AccountUsage":{"TotalCodeSize":%d}}`, f.concurrency, f.free, f.programs*1_000_000)
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
	case "GetTemplate":
		if f.template == "" || form.Get("StackName") != "zerodag-main" {
			w.WriteHeader(http.StatusBadRequest)
			print(`<ErrorResponse><Error><Code>ValidationError</Code><Message>Stack with id %s does not exist</Message></Error></ErrorResponse>`, form.Get("StackName"))
			return
		}
		var escaped strings.Builder
		_ = xml.EscapeText(&escaped, []byte(f.template))
		print(`<GetTemplateResponse><GetTemplateResult><TemplateBody>%s</TemplateBody></GetTemplateResult></GetTemplateResponse>`, escaped.String())
	case "DescribeVpcEndpoints":
		f.endpoints(w, form)
	case "GET /2025-09-09/managed-microvm-images/arn:aws:lambda:eu-central-1:aws:microvm-image:al2023-1/versions":
		f.bases(w, query.Get("nextToken"))
	case "DescribeVpcs":
		f.list(w, form.Get("NextToken"))
	default:
		f.machine(w, name, in)
	}
}

// endpoints answers a request about one VPC's endpoints.
func (f *fake) endpoints(w io.Writer, form url.Values) {
	fmt.Fprint(w, `<DescribeVpcEndpointsResponse><vpcEndpointSet>`)
	if form.Get("Filter.1.Name") == "vpc-id" && form.Get("Filter.1.Value.1") == f.vpcWithEndpoint && form.Get("Filter.2.Value.1") == "com.amazonaws.eu-central-1.execute-api" {
		fmt.Fprintf(w, `<item><vpcEndpointId>vpce-1</vpcEndpointId><privateDnsEnabled>%t</privateDnsEnabled></item>`, f.privateNames)
	}
	for i := 1; form.Get("Filter.1.Name") == "vpc-endpoint-id" && form.Has(fmt.Sprint("Filter.1.Value.", i)); i++ {
		id := form.Get(fmt.Sprint("Filter.1.Value.", i))
		if service, state, there := strings.Cut(f.entrances[id], " "); there {
			fmt.Fprintf(w, `<item><vpcEndpointId>%s</vpcEndpointId><serviceName>com.amazonaws.eu-central-1.%s</serviceName><state>%s</state></item>`, id, service, state)
		}
	}
	fmt.Fprint(w, `</vpcEndpointSet></DescribeVpcEndpointsResponse>`)
}

// bases responds with the versions of the MicroVM base image, one per page, or like a region without MicroVMs.
func (f *fake) bases(w http.ResponseWriter, token string) {
	if f.images == nil {
		refusal(w, f.noImages, "AccessDeniedException", false)
		return
	}
	page := 0
	fmt.Sscan(token, &page)
	version, status, _ := strings.Cut(f.images[page], " ")
	next := ""
	if page+1 < len(f.images) {
		next = fmt.Sprintf(`,"nextToken":"%d"`, page+1)
	}
	fmt.Fprintf(w, `{"items":[{"imageArn":"a","imageVersion":%q,"status":%q,"createdAt":1}]%s}`, version, status, next)
}

// list responds with two VPCs per page.
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

// machine answers requests about ECS and the concurrency of functions. A stopped task is listed one more time, as
// stopping.
func (f *fake) machine(w http.ResponseWriter, name string, in map[string]any) {
	switch name {
	case "GET /2019-09-30/functions/zerodag-main-agent/concurrency", "GET /2019-09-30/functions/zerodag-main-executor/concurrency", "GET /2019-09-30/functions/zerodag-main-api/concurrency",
		"GET /2019-09-30/functions/zerodag-main-runners/concurrency", "GET /2019-09-30/functions/zerodag-main-upload/concurrency", "GET /2019-09-30/functions/zerodag-main-tick/concurrency":
		if f.reserved == 0 {
			refusal(w, 404, "ResourceNotFoundException", false)
			return
		}
		fmt.Fprintf(w, `{"ReservedConcurrentExecutions":%d}`, f.reserved)
	case "PUT /2017-10-31/functions/zerodag-main-agent/concurrency", "PUT /2017-10-31/functions/zerodag-main-tick/concurrency":
		f.set = append(f.set, fmt.Sprint(strings.Split(name, "/")[3], " ", in["ReservedConcurrentExecutions"]))
		fmt.Fprintf(w, `{"ReservedConcurrentExecutions":%v}`, in["ReservedConcurrentExecutions"])
	case "DELETE /2017-10-31/functions/zerodag-main-agent/concurrency", "DELETE /2017-10-31/functions/zerodag-main-tick/concurrency":
		f.set = append(f.set, strings.Split(name, "/")[3]+" none")
		w.WriteHeader(http.StatusNoContent)
	case "GET /2015-03-31/functions/zerodag-main-agent/configuration":
		variables := env.Config{Commands: env.Commands{Microvms: env.Microvms{Image: f.microvms}}}.Variables()
		_ = json.NewEncoder(w).Encode(map[string]any{"FunctionName": "zerodag-main-agent", "Environment": map[string]any{"Variables": variables}})
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
	default: // a function that does not exist
		refusal(w, 404, "ResourceNotFoundException", false)
	}
}

// transport responds without a network, so that time can be simulated.
type transport struct{ http.Handler }

func (h transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result(), nil
}

// judged checks requests to the fake against the AWS models. The model for MicroVMs is too new for the judge.
func judged(t *testing.T, f *fake) http.Handler {
	others := localstack.Judged(t, f)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if microvmfake.Serves(r.URL.Path) {
			microvmfake.Check(t, r, nil)
			f.ServeHTTP(w, r)
			return
		}
		others.ServeHTTP(w, r)
	})
}

func open(t *testing.T, f *fake) *account.Account {
	t.Helper()
	c := aws.Config{Region: "eu-central-1", Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""), RetryMaxAttempts: 1, HTTPClient: &http.Client{Transport: transport{judged(t, f)}}}
	return account.New(c)
}

// inVPC places a stage in a VPC.
func inVPC(s *settings.Settings) { s.VPC, s.Subnets = "vpc-9", []string{"subnet-1"} }

// hidden makes a stage's API private.
func hidden(s *settings.Settings) {
	s.API, s.APIEndpoints, s.Domain, s.MachinesURL = "private", []string{"vpce-1", "vpce-2"}, "flows.example.com", "domain"
}

// small lets commands run in MicroVMs.
func small(s *settings.Settings) { s.Microvms = "allowed" }

// bases returns a change that gives an account's region these versions of the base image, each with its status.
func bases(versions ...string) func(*fake) { return func(f *fake) { f.images = versions } }

// entrances returns both endpoints that hidden sets, with the given service and state.
func entrances(as string) map[string]string { return map[string]string{"vpce-1": as, "vpce-2": as} }

// TestDoctor proves that each account check produces one line with the necessary change, and that a check fails only if
// a deploy would fail.
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
		"old bootstrap":          {account: func(f *fake) { f.bootstrap = "5" }, check: "bootstrap", level: account.Fail, says: "version 5 is too old: 6"},
		"strange bootstrap":      {account: func(f *fake) { f.bootstrap = "new" }, check: "bootstrap", level: account.Fail, says: "version new"},
		"may not ask":            {account: func(f *fake) { f.denied = "GetParameter" }, check: "bootstrap", level: account.Unknown, says: "AccessDenied"},
		"enough concurrency":     {check: "concurrency", level: account.OK, says: "takes up to 170"},
		"new account":            {account: func(f *fake) { f.concurrency, f.free = 10, 10 }, check: "concurrency", level: account.Fail, says: "agents: 2"},
		"new account, capped":    {account: func(f *fake) { f.concurrency, f.free = 10, 10 }, stage: func(s *settings.Settings) { s.Agents = 2 }, check: "concurrency", level: account.Advice, says: "throttled"},
		"reserved by others":     {account: func(f *fake) { f.free = 100 }, check: "concurrency", level: account.Fail, says: "agents: 53"},
		"nearly enough":          {account: func(f *fake) { f.free = 151 }, check: "concurrency", level: account.Advice, says: "agents: 87"},
		"endpoint of the VPC":    {account: func(f *fake) { f.vpcWithEndpoint, f.privateNames = "vpc-9", true }, stage: inVPC, check: "endpoints", level: account.Fail, says: "machinesUrl: domain"},
		"endpoint without names": {account: func(f *fake) { f.vpcWithEndpoint = "vpc-9" }, stage: inVPC, check: "endpoints", level: account.OK},
		"endpoint elsewhere":     {account: func(f *fake) { f.vpcWithEndpoint, f.privateNames = "vpc-8", true }, stage: inVPC, check: "endpoints", level: account.OK},
		"machines use domain": {account: func(f *fake) { f.vpcWithEndpoint, f.privateNames = "vpc-9", true }, stage: func(s *settings.Settings) { inVPC(s); s.MachinesURL = "domain" },
			check: "endpoints", level: account.Advice, says: "alias record"},
		"machines use domain by an alias": {account: func(f *fake) { f.vpcWithEndpoint, f.privateNames = "vpc-9", true }, stage: func(s *settings.Settings) {
			inVPC(s)
			s.MachinesURL, s.HostedZone = "domain", settings.Zone{ID: "Z1", Name: "example.com"}
		}, check: "endpoints"},
		"endpoint of the default VPC": {account: func(f *fake) { f.vpcs, f.vpcWithEndpoint, f.privateNames = 1, "vpc-0", true }, stage: func(s *settings.Settings) { s.VPC = settings.DefaultVPC },
			check: "endpoints", level: account.Fail, says: "vpc-0 has the endpoint vpce-1"},
		"no default VPC":              {account: func(f *fake) { f.vpcs = 0 }, stage: func(s *settings.Settings) { s.VPC = settings.DefaultVPC }, check: "endpoints", level: account.Fail, says: "create-default-vpc"},
		"endpoints may not be listed": {account: func(f *fake) { f.denied = "DescribeVpcEndpoints" }, stage: inVPC, check: "endpoints", level: account.Unknown, says: "status 403"},
		"private API":                 {account: func(f *fake) { f.entrances = entrances("execute-api available") }, stage: hidden, check: "api endpoints", level: account.OK, says: "vpce-1, vpce-2; the DNS record of flows.example.com"},
		"private API, no endpoint":    {account: func(f *fake) { f.entrances = map[string]string{"vpce-1": "execute-api available"} }, stage: hidden, check: "api endpoints", level: account.Fail, says: "no endpoint vpce-2"},
		"private API, other endpoint": {account: func(f *fake) { f.entrances = entrances("s3 available") }, stage: hidden, check: "api endpoints", level: account.Fail, says: "endpoints for com.amazonaws.eu-central-1.execute-api"},
		"private API, new endpoint":   {account: func(f *fake) { f.entrances = entrances("execute-api pendingAcceptance") }, stage: hidden, check: "api endpoints", level: account.Advice, says: "pendingAcceptance"},
		"private API, may not look":   {account: func(f *fake) { f.denied = "DescribeVpcEndpoints" }, stage: hidden, check: "api endpoints", level: account.Unknown, says: "status 403"},
		"private API, in a VPC":       {account: func(f *fake) { f.vpcWithEndpoint, f.privateNames = "vpc-9", true }, stage: func(s *settings.Settings) { hidden(s); inVPC(s) }, check: "endpoints"},
		"public API":                  {check: "api endpoints"},
		"reserves too much":           {account: func(f *fake) { f.free = 369 }, stage: func(s *settings.Settings) { s.Reserve = true }, check: "concurrency", level: account.Fail, says: "reserve: false"},
		"reserves what is there":      {account: func(f *fake) { f.free = 370 }, stage: func(s *settings.Settings) { s.Reserve = true }, check: "concurrency", level: account.OK, says: "takes up to 270"},
		"reserves again":              {account: func(f *fake) { f.free, f.reserved = 100, 45 }, stage: func(s *settings.Settings) { s.Reserve = true }, check: "concurrency", level: account.OK},
		"reserves more":               {account: func(f *fake) { f.free, f.reserved = 99, 45 }, stage: func(s *settings.Settings) { s.Reserve = true }, check: "concurrency", level: account.Fail, says: "reserve: false"},
		"role":                        {check: "ecs role", level: account.OK},
		"room for versions":           {account: func(f *fake) { f.programs = 74850 }, stage: func(s *settings.Settings) { s.Gradual = "AllAtOnce" }, check: "code storage", level: account.OK, says: "74850 MB"},
		"no room for versions":        {account: func(f *fake) { f.programs = 74851 }, stage: func(s *settings.Settings) { s.Gradual = "AllAtOnce" }, check: "code storage", level: account.Fail, says: "gradual: none"},
		"no versions":                 {account: func(f *fake) { f.programs = 75000 }, check: "code storage"},
		"no role":                     {account: func(f *fake) { f.role = false }, check: "ecs role", level: account.OK, says: "creates it with the first cluster"},
		"no role for spot":            {account: func(f *fake) { f.role = false }, stage: func(s *settings.Settings) { s.Spot = true }, check: "ecs role", level: account.Fail, says: "create-service-linked-role"},
		"no machines":                 {account: func(f *fake) { f.role = false }, stage: func(s *settings.Settings) { s.Commands = "none" }, check: "ecs role"},
		"vCPUs":                       {check: "fargate", level: account.OK, says: "140 machines of 1"},
		"few vCPUs":                   {account: func(f *fake) { f.cpus = 6 }, check: "fargate", level: account.Advice, says: "6 machines"},
		"too few vCPUs":               {account: func(f *fake) { f.cpus = 2 }, stage: func(s *settings.Settings) { s.CommandCPU, s.Spot = 4096, true }, check: "fargate", level: account.Fail, says: "L-36FBB829"},
		"room for a VPC":              {account: func(f *fake) { f.vpcs = 4 }, check: "vpcs", level: account.OK, says: "4 of 5"},
		"no room for a VPC":           {account: func(f *fake) { f.vpcs = 5 }, check: "vpcs", level: account.Fail, says: "vpc: default"},
		"default VPC":                 {account: func(f *fake) { f.vpcs = 5 }, stage: func(s *settings.Settings) { s.VPC = settings.DefaultVPC }, check: "vpcs"},
		"deployed already":            {account: func(f *fake) { f.vpcs, f.table = 5, true }, check: "vpcs"},
		"VPCs may not be listed":      {account: func(f *fake) { f.denied = "DescribeVpcs" }, check: "vpcs", level: account.Unknown, says: "status 403"},
		"MicroVMs":                    {account: bases("2 AVAILABLE", "1 AVAILABLE"), stage: small, check: "microvms", level: account.OK, says: "version 1 of the base image al2023-1"},
		"MicroVMs, old base":          {account: bases("2 AVAILABLE", "1 DEPRECATED"), stage: small, check: "microvms", level: account.Advice, says: "deprecated"},
		"MicroVMs, recalled base":     {account: bases("3 AVAILABLE", "2 AVAILABLE", "1 RECALLED"), stage: small, check: "microvms", level: account.Fail, says: "versions: 3, 2 "},
		"MicroVMs, unknown base":      {account: bases("7 RECALLED"), stage: small, check: "microvms", level: account.Fail, says: "versions: none"},
		"MicroVMs, other region":      {account: func(f *fake) { f.noImages = 404 }, stage: small, check: "microvms", level: account.Fail, says: "microvms: none"},
		"MicroVMs, may not look":      {account: func(f *fake) { f.noImages = 403 }, stage: small, check: "microvms", level: account.Unknown, says: "AccessDenied"},
		"no MicroVMs":                 {check: "microvms"},
		"high throughput":             {check: "secrets", level: account.OK},
		"40 secrets a second":         {account: func(f *fake) { f.throughput = false }, check: "secrets", level: account.Advice, says: "update-service-setting"},
		"a stage that is new":         {check: "stage", level: account.OK, says: "not deployed yet"},
		"a stage that is there":       {account: func(f *fake) { f.table = true }, check: "stage", level: account.OK, says: "its table exists"},
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
	a := open(t, f)
	list, err := a.Doctor(t.Context(), settings.Default("main"))
	if err != nil || list[1].Level != account.Unknown || slices.ContainsFunc(list, func(x account.Finding) bool { return x.Level == account.Fail }) {
		t.Errorf("what may not be asked was taken for no, or for a failure: %+v, %v", list, err)
	}
	if answer, err := a.Deployed(t.Context(), "main"); answer != account.NotAllowed || err != nil {
		t.Errorf("%s, %v", answer, err)
	}
	s := settings.Default("main")
	if s.Qualifier = "flows"; s.Validate() != nil {
		t.Error("a qualifier is refused")
	}
	f = healthy()
	if list, err := open(t, f).Doctor(t.Context(), s); err != nil || list[2].Level != account.Fail || !strings.Contains(list[2].Change, "--qualifier flows") {
		t.Errorf("another bootstrap was looked at: %+v, %v", list, err)
	}
}

// TestCreateRole proves that the ECS role is created only once.
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
	a = open(t, f)
	if err := a.CreateRole(t.Context()); err != nil {
		t.Errorf("a role that may not be looked for stops a deploy: %v", err)
	}
	list, err := a.Doctor(t.Context(), settings.Default("main"))
	if i := slices.IndexFunc(list, func(x account.Finding) bool { return x.Check == "ecs role" }); err != nil || i < 0 || list[i].Level != account.Unknown {
		t.Errorf("a role that may not be looked for was taken to be there: %+v, %v", list, err)
	}
}

// TestStop proves that after a stage is switched off, none of its machines are left, including machines that were
// already stopping, and that nothing launches another one.
func TestStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := healthy()
		f.tasks = map[string]string{"arn:a": "RUNNING", "arn:b": "RUNNING", "arn:c": "STOPPED"}
		stopped, err := open(t, f).Stop(t.Context(), "main")
		if err != nil || stopped != (account.Stopped{Machines: 2}) {
			t.Errorf("%+v were stopped, %v", stopped, err)
		}
		for arn, status := range f.tasks {
			if status != "STOPPED" {
				t.Errorf("%s is %s", arn, status)
			}
		}
		if calls := strings.Join(f.calls, " "); !strings.HasPrefix(calls, "PUT /2017-10-31/functions/zerodag-main-agent/concurrency PUT /2017-10-31/functions/zerodag-main-tick/concurrency ") {
			t.Error(calls)
		}
		if !slices.Equal(f.set, []string{"zerodag-main-agent 0", "zerodag-main-tick 0"}) {
			t.Error(f.set)
		}
	})
	f := healthy()
	f.cluster = false
	if stopped, err := open(t, f).Stop(t.Context(), "none"); stopped != (account.Stopped{}) || err != nil {
		t.Errorf("a stage that is not there: %+v, %v", stopped, err)
	}
}

// split sends requests about MicroVMs to a separate fake over the network.
type split struct{ others http.Handler }

func (s split) RoundTrip(r *http.Request) (*http.Response, error) {
	if microvmfake.Serves(r.URL.Path) {
		return http.DefaultTransport.RoundTrip(r)
	}
	return transport{s.others}.RoundTrip(r)
}

// TestStopMicrovms proves that after a stage is switched off, none of its MicroVMs are left, and that a failure to list
// or terminate MicroVMs is reported but does not keep anything else from being stopped.
func TestStopMicrovms(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		change func(*fake, *microvmfake.Fake)
		ended  int
		left   string
	}{
		"all":                {ended: 3},
		"the stage has none": {change: func(f *fake, _ *microvmfake.Fake) { f.microvms = "" }},
		"one has ended":      {change: func(_ *fake, vms *microvmfake.Fake) { vms.Set(vms.Machines()[1].ID, "TERMINATED", "") }, ended: 2},
		"one ends meanwhile": {change: func(_ *fake, vms *microvmfake.Fake) {
			vms.Fail(microvmfake.Fault{Operation: "TerminateMicrovm", Times: 1, Status: 404, Code: "ResourceNotFoundException", Done: true})
		}, ended: 3},
		"one is ending": {change: func(_ *fake, vms *microvmfake.Fake) {
			vms.Fail(microvmfake.Fault{Operation: "TerminateMicrovm", Times: 1, Status: 409, Code: "ConflictException", Done: true})
		}, ended: 3},
		"throttled": {change: func(_ *fake, vms *microvmfake.Fake) {
			vms.Fail(microvmfake.Fault{Operation: "TerminateMicrovm", Times: 1, Status: 429, Code: "ThrottlingException"})
		}, ended: 3},
		"may not be listed": {change: func(_ *fake, vms *microvmfake.Fake) {
			vms.Fail(microvmfake.Fault{Operation: "ListMicrovms", Times: 9, Status: 403, Code: "AccessDeniedException"})
		}, left: "list the MicroVMs"},
		"may not be terminated": {change: func(_ *fake, vms *microvmfake.Fake) {
			vms.Fail(microvmfake.Fault{Operation: "TerminateMicrovm", Times: 9, Status: 403, Code: "AccessDeniedException"})
		}, left: "terminate MicroVM"},
		"may not be found": {change: func(f *fake, _ *microvmfake.Fake) {
			f.denied = "GET /2015-03-31/functions/zerodag-main-agent/configuration"
		}, left: "configuration of the agent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			vms, f := microvmfake.New(t), healthy()
			f.microvms, vms.PageSize = microvmfake.Image, 2
			machines := microvm.New(vms.Config(), microvm.Options{Image: microvmfake.Image, URL: "https://api.example"})
			for slot := range 3 {
				of := sandbox.Class{Image: "i", CPU: 1024, Memory: 2048, On: operators.OnMicrovm}
				if _, err := machines.Launch(t.Context(), sandbox.Runner{Attempt: 5, Class: of.Key(), Slot: slot, ID: "abcdefghijklmnop", Of: of}, "ticket"); err != nil {
					t.Fatal(err)
				}
			}
			if x.change != nil {
				x.change(f, vms)
			}
			c := vms.Config()
			c.RetryMaxAttempts, c.HTTPClient = 1, &http.Client{Transport: split{f}}
			stopped, err := account.New(c).Stop(t.Context(), "main")
			if err != nil || stopped.Microvms != x.ended || (stopped.Left != nil) != (x.left != "") || x.left != "" && !strings.Contains(stopped.Left.Error(), x.left) {
				t.Errorf("%+v, %v", stopped, err)
			}
			for _, m := range vms.Machines() {
				if x.ended > 0 && m.State != "TERMINATED" {
					t.Errorf("%s is %s", m.ID, m.State)
				}
			}
			if !slices.Contains(f.calls, "ListTasks") {
				t.Error("machines on Fargate were not looked for")
			}
		})
	}
}

// TestStart proves that a stage that was switched off gets back the reserved concurrency from its template, no matter
// what its file contains now.
func TestStart(t *testing.T) {
	t.Parallel()
	const function = `"%s": {"Type": "AWS::Lambda::Function", "Properties": {"FunctionName": "zerodag-main-%[1]s"%s}}, `
	template := func(agent, tick string) string {
		return `{"Resources": {` + fmt.Sprintf(function, "agent", agent) + fmt.Sprintf(function, "tick", tick) + `"alias": {"Type": "AWS::Lambda::Alias", "Properties": {"FunctionName": {"Ref": "agent"}}}, "api": {"Type": "AWS::Lambda::Function", "Properties": {"FunctionName": "zerodag-main-api", "ReservedConcurrentExecutions": 50}}}}`
	}
	released, err := os.ReadFile("../../infra/deployment/testdata/released.json") // with reserve
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		template, denied string
		set              []string
		says             string
	}{
		"nothing is reserved": {template: template("", ""), set: []string{"zerodag-main-agent none", "zerodag-main-tick none"}},
		"reserved":            {template: template(`, "ReservedConcurrentExecutions": 100`, `, "ReservedConcurrentExecutions": 10`), set: []string{"zerodag-main-agent 100", "zerodag-main-tick 10"}},
		"of a release":        {template: string(released), set: []string{"zerodag-main-agent 100", "zerodag-main-tick 10"}},
		"no stack":            {says: "stage main is not deployed in eu-central-1"},
		"no function":         {template: `{"Resources": {}}`, says: "no function zerodag-main-agent"},
		"no template":         {template: "Resources: {}", says: "read the template"},
		"may not read":        {template: template("", ""), denied: "GetTemplate", says: "need cloudformation:GetTemplate"},
		"may not change":      {template: template("", ""), denied: "DELETE /2017-10-31/functions/zerodag-main-tick/concurrency", set: []string{"zerodag-main-agent none"}, says: "enable the function tick"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := healthy()
			f.template, f.denied = x.template, x.denied
			_, err := open(t, f).Start(t.Context(), "main")
			if (err != nil) != (x.says != "") || err != nil && !strings.Contains(err.Error(), x.says) {
				t.Errorf("%v, want %s", err, x.says)
			}
			if !slices.Equal(f.set, x.set) {
				t.Errorf("%v, want %v", f.set, x.set)
			}
		})
	}
}
