package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/awscost"
	"zerodag/internal/prices"
)

// costStage is a stage with its API and its account. Attempts 1 to 250 were created one per hour around the beginning
// of January 2026: 1 to 20 in December, 21 to 220 in January, the others in February.
type costStage struct {
	mu      sync.Mutex
	deny    map[string]bool // AWS operations
	empty   bool            // no attempts
	gone    string          // an attempt that was removed
	large   string          // an attempt with too many tasks for a response
	failing string          // an attempt whose tasks may not be read
	calls   map[string]int
	signed  bool
	token   string
}

func costTime(id int) time.Time {
	january := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	switch {
	case id <= 20:
		return january.Add(time.Duration(id-21) * time.Second)
	case id <= 220:
		return january.Add(time.Duration(id-21) * time.Hour)
	}
	return january.AddDate(0, 1, 0).Add(time.Duration(id-221) * time.Hour)
}

// api responds as the API does. Attempts with even numbers belong to the workflow load, whose task is a command of a
// minute. The odd ones belong to the workflow report, with a group, two tasks and one task that did not run.
func (s *costStage) api(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.signed = strings.Contains(r.Header.Get("Authorization"), "Signature=")
	s.token = r.Header.Get("Authorization")
	path := strings.TrimPrefix(r.URL.Path, "/iam")
	w.Header().Set("Content-Type", "application/json")
	switch {
	case path == "/api/version/check":
		fmt.Fprint(w, `{"serverVersion":"0.10.5","upgradeRecommended":false,"apiCompatible":true}`)
	case path == "/api/x/admin/sites":
		fmt.Fprint(w, `{"sites":[{"id":"0","projects":2},{"id":"7","projects":1}],"next":null}`)
	case path == "/api/attempts":
		s.calls["attempts"]++
		s.list(w, r)
	case strings.HasSuffix(path, "/tasks"):
		s.calls["tasks"]++
		s.tasks(w, strings.Split(path, "/")[3])
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (s *costStage) list(w io.Writer, r *http.Request) {
	before, err := strconv.Atoi(r.URL.Query().Get("last_id"))
	if err != nil {
		before = 251
	}
	size, _ := strconv.Atoi(r.URL.Query().Get("page_size"))
	var list []string
	for id := before - 1; id > 0 && len(list) < size && !s.empty && r.URL.Query().Get("include_retried") == "true"; id-- {
		project, workflow := `{"id":"1","name":"sales"}`, "load"
		if id%2 == 1 {
			project, workflow = `{"id":"2","name":"books"}`, "report"
		}
		at := costTime(id)
		list = append(list, fmt.Sprintf(`{"id":"%d","project":%s,"workflow":{"id":"3","name":%q},"done":true,"success":true,"createdAt":%q,"finishedAt":%q,"params":{}}`,
			id, project, workflow, at.Format(time.RFC3339), at.Add(10*time.Minute).Format(time.RFC3339)))
	}
	fmt.Fprintf(w, `{"attempts":[%s]}`, strings.Join(list, ","))
}

func (s *costStage) tasks(w http.ResponseWriter, attempt string) {
	if attempt == s.gone {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if attempt == s.large {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	if attempt == s.failing {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	id, _ := strconv.Atoi(attempt)
	at := costTime(id)
	task := func(id, parent, config, more string, group bool) string {
		return fmt.Sprintf(`{"id":"%s","fullName":"+w","parentId":%s,"config":%s,"upstreams":[],"isGroup":%t,"state":"success","exportParams":{},"storeParams":{},"stateParams":{},"updatedAt":%q,"startedAt":%q,"error":{}%s}`,
			id, parent, config, group, at.Add(2*time.Minute).Format(time.RFC3339), at.Add(time.Minute).Format(time.RFC3339), more)
	}
	list := []string{task("1", "null", `{"_export":{"sandbox":{"cpu":4}}}`, "", true)}
	if id%2 == 0 {
		list[0] = strings.Replace(list[0], `"exportParams":{}`, `"exportParams":{"sandbox":{"cpu":4}}`, 1)
		list = append(list, task("2", `"1"`, `{"sh>":"make"}`, "", false))
	} else {
		list = append(list, task("2", `"1"`, `{"echo>":"a"}`, "", false), task("3", `"1"`, `{"http>":"https://example.com"}`, "", false),
			task("4", `"1"`, `{"sh>":"b"}`, `,"skipped":"not needed"`, false),
			strings.Replace(task("5", `"1"`, `{"sh>":"taken over"}`, "", false), at.Add(time.Minute).Format(time.RFC3339), at.Add(-time.Minute).Format(time.RFC3339), 1))
	}
	fmt.Fprintf(w, `{"tasks":[%s]}`, strings.Join(list, ","))
}

// aws responds as the account does.
func (s *costStage) aws(url string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		_ = r.ParseForm()
		name := r.Form.Get("Action")
		if _, target, is := strings.Cut(r.Header.Get("X-Amz-Target"), "."); is {
			name = target
		} else if name == "" {
			name = "GetFunctionConfiguration"
		}
		s.calls[name]++
		switch {
		case s.deny[name] && r.Form.Get("Action") != "":
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `<ErrorResponse><Error><Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>`)
		case s.deny[name]:
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"__type":"AccessDeniedException","message":"no"}`)
		case name == "DescribeStacks" && r.Form.Get("StackName") != "zerodag-main":
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `<ErrorResponse><Error><Code>ValidationError</Code><Message>Stack with id x does not exist</Message></Error></ErrorResponse>`)
		case name == "DescribeStacks":
			fmt.Fprintf(w, `<R><DescribeStacksResult><Stacks><member><StackId>arn:aws:cloudformation:eu-central-1:111111111111:stack/x/1</StackId><Outputs><member><OutputKey>Url</OutputKey><OutputValue>%s</OutputValue></member></Outputs></member></Stacks></DescribeStacksResult></R>`, url)
		case name == "ListStackResources":
			fmt.Fprint(w, `<R><ListStackResourcesResult><StackResourceSummaries><member><ResourceType>AWS::DynamoDB::Table</ResourceType><PhysicalResourceId>zerodag-main-table</PhysicalResourceId></member><member><ResourceType>AWS::CloudWatch::Alarm</ResourceType><PhysicalResourceId>a</PhysicalResourceId></member></StackResourceSummaries></ListStackResourcesResult></R>`)
		case name == "GetMetricData": // read units, write units
			fmt.Fprint(w, `<R><GetMetricDataResult><MetricDataResults><member><Id>m0</Id><StatusCode>Complete</StatusCode><Values><member>1000000</member></Values></member><member><Id>m1</Id><StatusCode>Complete</StatusCode><Values><member>8000000</member></Values></member></MetricDataResults></GetMetricDataResult></R>`)
		case name == "GetCostAndUsage":
			fmt.Fprint(w, `{"ResultsByTime":[{"Groups":[{"Keys":["Amazon Elastic Container Service","zerodag-project$1"],"Metrics":{"UnblendedCost":{"Amount":"3.14159","Unit":"USD"}}},{"Keys":["Amazon Elastic Container Service","zerodag-project$9"],"Metrics":{"UnblendedCost":{"Amount":"0.00001","Unit":"USD"}}}],"Estimated":false}]}`)
		}
	}
}

// cost runs the command on a stage.
func (s *costStage) cost(t *testing.T, folder, arguments string) (code int, out, errs string) {
	t.Helper()
	s.calls = map[string]int{}
	api := httptest.NewServer(http.HandlerFunc(s.api))
	defer api.Close()
	cloud := httptest.NewServer(s.aws(api.URL))
	defer cloud.Close()
	t.Setenv("AWS_ENDPOINT_URL", cloud.URL)
	var o, e bytes.Buffer
	code = run(t.Context(), strings.Fields("aws cost --stages "+folder+" "+strings.ReplaceAll(arguments, "API", api.URL)), cli.Streams{In: strings.NewReader(""), Out: &o, Err: &e, ProgramVersion: version()})
	return code, o.String(), e.String()
}

// TestAWSCost checks the report of `aws cost` for a month: it contains the attempts of that month only, by workflow and
// with prices, and the costs that belong to no workflow. A part that the user may not read is reported as unknown and
// does not affect the other parts.
func TestAWSCost(t *testing.T) {
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "eu-central-1", "AWS_MAX_ATTEMPTS": "1", "AWS_CONFIG_FILE": "/nonexistent", "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
		"ZERODAG_TOKEN": "other", "HOME": t.TempDir(), "XDG_CONFIG_HOME": t.TempDir()} {
		t.Setenv(name, value)
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "main.yaml"), []byte("metricsOf: [sales]\nvpc: default\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &costStage{}
	code, out, errs := s.cost(t, folder, "--month 2026-01 --output json --sample 10")
	if code != 0 {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	var got awscost.Report
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if len(got.Workflows) != 2 || got.Currency != "USD" || got.Prices != "us-east-1" || got.Region != "eu-central-1" || got.Partial || got.Month != "2026-01" {
		t.Fatalf("%+v", got)
	}
	near := func(what string, x, want float64) {
		t.Helper()
		if math.Abs(x-want) > 1e-6 {
			t.Errorf("%s: %v, want %v", what, x, want)
		}
	}
	// A machine of 4 vCPUs and 8 GB, which runs one command alone for a minute, and stays up for another minute.
	hours := 100 * 2.0 / 60
	machines := hours * (4*prices.FargateCPUHour + 8*prices.FargateGBHour + prices.AddressHour)
	load, report := got.Workflows[0], got.Workflows[1]
	if load.Project != "sales" || load.Workflow != "load" || load.Attempts != 100 || load.Read != 10 || load.Tasks != 100 || load.Commands != 100 || load.ProjectID != "1" {
		t.Errorf("%+v", load)
	}
	near("vCPU hours", load.CPUHours, 4*hours)
	near("machines", load.Machines, machines)
	near("engine of commands", load.Engine, 100*(prices.EngineAttempt+prices.EngineFirst+prices.EngineCommand))
	if report.Project != "books" || report.Attempts != 100 || report.Tasks != 200 || report.Commands != 0 || report.Machines != 0 {
		t.Errorf("%+v", report)
	}
	near("engine of tasks", report.Engine, 100*(prices.EngineAttempt+prices.EngineInline+prices.EngineFirst))
	counted := 1e6*prices.ReadUnit + 8e6*prices.WriteUnit
	near("counted", got.Counted.Dollars, counted)
	near("of no workflow", *got.Rest, counted-load.Engine-report.Engine)
	fixed := prices.AlarmMetrics*prices.AlarmMetric + 3*prices.CustomMetric
	near("total", got.Total, machines+counted+fixed)
	if got.Requests.Lists != 3 || got.Requests.Tasks != 20 || s.calls["attempts"] != 3 || s.calls["tasks"] != 20 {
		t.Errorf("%+v, %v", got.Requests, s.calls)
	}
	if got.Billed.Known || s.calls["GetCostAndUsage"] != 0 || !s.signed {
		t.Errorf("Cost Explorer was asked, or the API was not by signature: %v", s.calls)
	}
	if !strings.Contains(strings.Join(got.Notes, " "), "sites 0, 7") || !strings.Contains(strings.Join(got.Notes, " "), "--sample 0") {
		t.Error(got.Notes)
	}

	for _, x := range []struct {
		name, arguments string
		stage           *costStage
		code            int
		says            []string
		calls           map[string]int
	}{
		{"a bill", "--month 2026-01 --billed --sample 0", &costStage{}, 0, []string{"Amazon Elastic Container Service  sales    3.14\n", "id 9     <0.0001", "all                                        3.14", "Requests to Cost Explorer: 1, which cost $0.01"}, map[string]int{"tasks": 200, "GetCostAndUsage": 1}},
		{"an empty month", "--month 2026-01", &costStage{empty: true}, 0, []string{"no attempts were created in this month", "not attributed: counted minus the engine of workflows  5.12\n"}, map[string]int{"attempts": 1, "tasks": 0}},
		{"a month before all attempts", "--month 2025-11 --output json", &costStage{}, 0, []string{`"workflows": []`, `"engine": 0,`}, map[string]int{"attempts": 3}},
		{"the last seconds of a month", "--month 2025-12 --output json --sample 0", &costStage{}, 0, []string{`"attempts": 10`, `"to": "2026-01-01T00:00:00Z"`}, map[string]int{"tasks": 20}},
		{"nothing may be asked", "--month 2026-01 --billed", &costStage{deny: map[string]bool{"GetMetricData": true, "GetCostAndUsage": true}}, 0,
			[]string{"unknown: the credentials lack the permission cloudwatch:GetMetricData", "unknown: the credentials lack the permission ce:GetCostAndUsage,", "not attributed: counted minus the engine of workflows  unknown"}, nil},
		{"the stack may not be read", "--month 2026-01", &costStage{deny: map[string]bool{"DescribeStacks": true}}, 1, []string{"cloudformation:DescribeStacks"}, map[string]int{"attempts": 0}},
		{"the stack may not be read, but the API is named", "--month 2026-01 -e API --token t", &costStage{deny: map[string]bool{"DescribeStacks": true}}, 0, []string{"sales", "unknown: the credentials lack the permission cloudformation:DescribeStacks,"}, nil},
		{"no such stage", "prod", &costStage{}, 1, []string{"stage prod is not deployed in eu-central-1"}, map[string]int{"attempts": 0}},
		{"an attempt was removed meanwhile", "--month 2026-01 --sample 0 --output json", &costStage{gone: "100"}, 0, []string{`"read": 99`, `"unread": 1`}, nil},
		{"an attempt has too many tasks", "--month 2026-01 --sample 0", &costStage{large: "100"}, 0, []string{"The tasks of 1 attempts could not be read"}, nil},
		{"tasks cannot be read", "--month 2026-01 --sample 0", &costStage{failing: "100"}, 1, []string{"read the tasks of attempt 100"}, nil},
		{"no month", "--month October", &costStage{}, 2, []string{"--month"}, map[string]int{"DescribeStacks": 0}},
		{"a month that has not begun", "--month 2999-01", &costStage{}, 2, []string{"has not begun"}, nil},
		{"no sample", "--sample -1", &costStage{}, 2, []string{"--sample"}, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			code, out, errs := x.stage.cost(t, folder, x.arguments)
			if code != x.code {
				t.Errorf("exit code %d: %s%s", code, out, errs)
			}
			for _, want := range x.says {
				if !strings.Contains(out+errs, want) {
					t.Errorf("no %q in\n%s%s", want, out, errs)
				}
			}
			for call, want := range x.calls {
				if n := x.stage.calls[call]; n != want {
					t.Errorf("%d calls of %s, want %d", n, call, want)
				}
			}
		})
	}
	t.Run("no credentials", func(t *testing.T) {
		for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_EC2_METADATA_DISABLED": "true"} {
			t.Setenv(name, value)
		}
		if code, out, errs := (&costStage{}).cost(t, folder, "--month 2026-01"); code != 1 || !strings.Contains(errs, "there are no AWS credentials: log in") {
			t.Errorf("exit code %d: %s%s", code, out, errs)
		}
	})
}
