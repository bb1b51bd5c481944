package account_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"zerodag/integration/localstack"
	"zerodag/internal/account"
	"zerodag/internal/prices"
)

// ledger is an account in which the stage main was used. Its CloudFormation, CloudWatch and Cost Explorer return two
// items per page.
type ledger struct {
	mu        sync.Mutex
	sums      map[string][]float64 // the daily sums, by "METRIC NAME"
	pages     []string             // Cost Explorer's answers
	throttles int                  // the number of requests that will still be throttled
	denied    string
	refusal   string // the error code that Cost Explorer returns
	noURL     bool
	partial   string // the StatusCode of every metric
	calls     []string
	seen      []string // "SERVICE REGION BODY"
}

// Resources of a stack, including one that belongs to the CDK, and the function for commands, which is not part of the
// engine.
var resources = [][2]string{
	{"AWS::Lambda::Function", "zerodag-main-api"}, {"AWS::Lambda::Function", "zerodag-main-tick"}, {"AWS::Lambda::Function", "CustomResource-1"}, {"AWS::Lambda::Function", "zerodag-main-commands"},
	{"AWS::SQS::Queue", "https://sqs.eu-central-1.amazonaws.com/1/zerodag-main-Events1.fifo"}, {"AWS::SQS::Queue", "https://sqs.eu-central-1.amazonaws.com/1/zerodag-main-Tasks1"},
	{"AWS::DynamoDB::Table", "zerodag-main-table"}, {"AWS::Logs::LogGroup", "/zerodag/main/api"}, {"AWS::ApiGatewayV2::Api", "abc"},
	{"AWS::CloudWatch::Alarm", "a"}, {"AWS::CloudWatch::Alarm", "b"}, {"AWS::CloudWatch::Dashboard", "d"},
}

func (l *ledger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	form, _ := url.ParseQuery(string(body))
	name := form.Get("Action")
	if _, target, ok := strings.Cut(r.Header.Get("X-Amz-Target"), "."); ok {
		name = target
	} else if name == "" {
		name = r.URL.Path
	}
	l.calls = append(l.calls, name)
	scope := strings.Split(r.Header.Get("Authorization"), "/")
	l.seen = append(l.seen, fmt.Sprintf("%s %s %s %s", scope[3], scope[2], r.URL.Host, body))
	switch {
	case l.throttles > 0:
		l.throttles--
		refusal(w, http.StatusBadRequest, "Throttling", form.Get("Action") != "")
	case name == l.denied && form.Get("Action") != "":
		refusal(w, http.StatusForbidden, "AccessDenied", true)
	case name == l.denied:
		refusal(w, http.StatusBadRequest, "com.amazon.coral.service#AccessDeniedException", false)
	case name == "DescribeStacks":
		l.describe(w, form)
	case name == "ListStackResources":
		from, next := 0, ""
		fmt.Sscan(form.Get("NextToken"), &from)
		fmt.Fprint(w, `<R><ListStackResourcesResult><StackResourceSummaries>`)
		for _, x := range resources[from:min(from+2, len(resources))] {
			fmt.Fprintf(w, `<member><ResourceType>%s</ResourceType><PhysicalResourceId>%s</PhysicalResourceId></member>`, x[0], x[1])
		}
		if from+2 < len(resources) {
			next = fmt.Sprintf("<NextToken>%d</NextToken>", from+2)
		}
		fmt.Fprintf(w, `</StackResourceSummaries>%s</ListStackResourcesResult></R>`, next)
	case name == "GetMetricData":
		l.metrics(w, form)
	case strings.HasPrefix(name, "/2015-03-31/functions/zerodag-main-api/"):
		fmt.Fprint(w, `{"FunctionName":"zerodag-main-api","MemorySize":512,"Architectures":["arm64"]}`)
	case strings.HasPrefix(name, "/2015-03-31/functions/zerodag-main-tick/"):
		fmt.Fprint(w, `{"FunctionName":"zerodag-main-tick","MemorySize":1024,"Architectures":["x86_64"]}`)
	case name == "GetCostAndUsage" && l.refusal != "":
		refusal(w, http.StatusBadRequest, l.refusal, false)
	case name == "GetCostAndUsage":
		var in struct{ NextPageToken string }
		page := 0
		if err := json.Unmarshal(body, &in); err != nil {
			refusal(w, http.StatusBadRequest, "ValidationException", false)
			return
		}
		fmt.Sscan(in.NextPageToken, &page)
		io.WriteString(w, l.pages[page])
	default:
		refusal(w, http.StatusNotFound, "ResourceNotFoundException", false)
	}
}

func (l *ledger) describe(w http.ResponseWriter, form url.Values) {
	if form.Get("StackName") != "zerodag-main" {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `<ErrorResponse><Error><Code>ValidationError</Code><Message>Stack with id %s does not exist</Message></Error></ErrorResponse>`, form.Get("StackName"))
		return
	}
	output := `<member><OutputKey>Url</OutputKey><OutputValue>https://abc.execute-api.eu-central-1.amazonaws.com/</OutputValue></member>`
	if l.noURL {
		output = ""
	}
	fmt.Fprintf(w, `<R><DescribeStacksResult><Stacks><member><StackId>arn:aws:cloudformation:eu-central-1:111111111111:stack/zerodag-main/1</StackId><StackStatus>CREATE_FAILED</StackStatus><Outputs>%s</Outputs></member></Stacks></DescribeStacksResult></R>`, output)
}

// metrics responds with two metrics per page, and spreads the days of one metric over two pages.
func (l *ledger) metrics(w http.ResponseWriter, form url.Values) {
	type answer struct{ id, value string }
	var all []answer
	for i := 1; form.Get(fmt.Sprintf("MetricDataQueries.member.%d.Id", i)) != ""; i++ {
		at := fmt.Sprintf("MetricDataQueries.member.%d.", i)
		metric := form.Get(at+"MetricStat.Metric.MetricName") + " " + form.Get(at+"MetricStat.Metric.Dimensions.member.1.Value")
		for _, v := range l.sums[metric] {
			all = append(all, answer{form.Get(at + "Id"), fmt.Sprintf("<member>%g</member>", v)})
		}
		if len(l.sums[metric]) == 0 {
			all = append(all, answer{form.Get(at + "Id"), ""})
		}
	}
	from, next, status := 0, "", "Complete"
	if l.partial != "" {
		status = l.partial
	}
	fmt.Sscan(form.Get("NextToken"), &from)
	fmt.Fprint(w, `<R><GetMetricDataResult><MetricDataResults>`)
	for _, x := range all[from:min(from+2, len(all))] {
		fmt.Fprintf(w, `<member><Id>%s</Id><StatusCode>%s</StatusCode><Values>%s</Values></member>`, x.id, status, x.value)
	}
	if from+2 < len(all) {
		next = fmt.Sprintf("<NextToken>%d</NextToken>", from+2)
	}
	fmt.Fprintf(w, `</MetricDataResults>%s</GetMetricDataResult></R>`, next)
}

func (l *ledger) open(t *testing.T) *account.Account {
	t.Helper()
	return account.New(aws.Config{Region: "eu-central-1", Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""), RetryMaxAttempts: 1, HTTPClient: &http.Client{Transport: transport{localstack.Judged(t, l)}}})
}

var (
	october  = time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	november = october.AddDate(0, 1, 0)
)

// TestStack proves that the counted resources are found in the stack, page by page, and that a missing stage is an
// error.
func TestStack(t *testing.T) {
	t.Parallel()
	l := &ledger{}
	s, err := l.open(t).Stack(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	if s.URL != "https://abc.execute-api.eu-central-1.amazonaws.com" || s.Account != "111111111111" || s.Alarms != 2 || s.Dashboards != 1 {
		t.Errorf("%+v", s)
	}
	if !slices.Equal(s.Functions, []string{"zerodag-main-api", "zerodag-main-tick"}) || !slices.Equal(s.Queues, []string{"zerodag-main-Events1.fifo", "zerodag-main-Tasks1"}) ||
		!slices.Equal(s.Tables, []string{"zerodag-main-table"}) || !slices.Equal(s.LogGroups, []string{"/zerodag/main/api"}) || !slices.Equal(s.APIs, []string{"abc"}) {
		t.Errorf("%+v", s)
	}
	var none *account.NoStage
	if _, err := l.open(t).Stack(t.Context(), "prod"); !errors.As(err, &none) || !strings.Contains(err.Error(), "stage prod is not deployed in eu-central-1") {
		t.Errorf("a stage that is not there: %v", err)
	}
	for _, operation := range []string{"DescribeStacks", "ListStackResources"} {
		if _, err := (&ledger{denied: operation}).open(t).Stack(t.Context(), "main"); !account.IsDenied(err) || !strings.Contains(err.Error(), "cloudformation:"+operation) {
			t.Errorf("%s is not allowed: %v", operation, err)
		}
	}
	if _, err := (&ledger{noURL: true}).open(t).Stack(t.Context(), "main"); err == nil || account.IsDenied(err) || !strings.Contains(err.Error(), "its state is CREATE_FAILED") {
		t.Errorf("a stage whose deploy failed: %v", err)
	}
	if _, err := account.New(aws.Config{Region: "eu-central-1"}).Stack(t.Context(), "main"); err == nil || !strings.Contains(err.Error(), "there are no AWS credentials") {
		t.Errorf("without credentials: %v", err)
	}
}

// stackOfMain returns the stack that TestStack proves to be correct.
func stackOfMain(t *testing.T, l *ledger) account.Stack {
	t.Helper()
	s, err := l.open(t).Stack(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	l.calls, l.seen = nil, nil
	return s
}

// TestUsage proves that the days of all metrics are added up over pages and priced by unit, and that a month without
// counts is zero.
func TestUsage(t *testing.T) {
	t.Parallel()
	l := &ledger{sums: map[string][]float64{
		"Invocations zerodag-main-api": {1000, 2000}, "Invocations zerodag-main-tick": {500},
		"Duration zerodag-main-api": {60_000, 140_000}, "Duration zerodag-main-tick": {100_000},
		"NumberOfMessagesSent zerodag-main-Events1.fifo": {10}, "NumberOfEmptyReceives zerodag-main-Events1.fifo": {5}, "NumberOfMessagesDeleted zerodag-main-Tasks1": {7, 8, 9},
		"ConsumedReadCapacityUnits zerodag-main-table": {100.5}, "ConsumedWriteCapacityUnits zerodag-main-table": {50},
		"IncomingBytes /zerodag/main/api": {1 << 29, 1 << 29}, "Count abc": {33},
	}}
	s := stackOfMain(t, l)
	list, err := l.open(t).Usage(t.Context(), s, october, november)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{"requests": 3500, "GB-seconds, arm64": 100, "GB-seconds, x86_64": 100, "read units": 100.5, "write units": 50, "GB of logs": 1}
	price := map[string]float64{"GB-seconds, arm64": prices.LambdaGBSecond, "GB-seconds, x86_64": prices.LambdaX86Second, "read units": prices.ReadUnit, "write units": prices.WriteUnit, "GB of logs": prices.LogGB, "requests": prices.LambdaRequest}
	for _, x := range list {
		switch {
		case x.Service == "Amazon API Gateway":
			if x.Quantity != 33 || math.Abs(x.Dollars-33*prices.APIRequest) > 1e-12 {
				t.Errorf("%+v", x)
			}
		case strings.Contains(x.Type, "FIFO"):
			if x.Quantity != 15 {
				t.Errorf("%+v", x)
			}
		case strings.Contains(x.Type, "standard"):
			if x.Quantity != 24 {
				t.Errorf("%+v", x)
			}
		case math.Abs(x.Quantity-want[x.Type]) > 1e-9 || math.Abs(x.Dollars-want[x.Type]*price[x.Type]) > 1e-12:
			t.Errorf("%+v, want %v", x, want[x.Type])
		}
	}
	if !strings.Contains(l.seen[0], "StartTime=2026-10-01T00%3A00%3A00Z") || !strings.Contains(l.seen[0], "EndTime=2026-11-01T00%3A00%3A00Z") || !strings.HasPrefix(l.seen[0], "monitoring eu-central-1 monitoring.eu-central-1.amazonaws.com ") {
		t.Errorf("asked %s", l.seen[0])
	}
	empty := &ledger{}
	list, err = empty.open(t).Usage(t.Context(), s, october, november)
	if err != nil || len(list) != 9 {
		t.Fatalf("%v, %v", list, err)
	}
	for _, x := range list {
		if x.Quantity != 0 || x.Dollars != 0 {
			t.Errorf("an empty month: %+v", x)
		}
	}
	for _, l := range []*ledger{{denied: "GetMetricData"}, {denied: "/2015-03-31/functions/zerodag-main-api/configuration"}} {
		if _, err := l.open(t).Usage(t.Context(), s, october, november); !account.IsDenied(err) {
			t.Errorf("%s is not allowed: %v", l.denied, err)
		}
	}
	if _, err := (&ledger{partial: "InternalError"}).open(t).Usage(t.Context(), s, october, november); err == nil || !strings.Contains(err.Error(), "InternalError") {
		t.Errorf("a metric that CloudWatch could not add up was taken: %v", err)
	}
}

// TestThrottled proves that a throttled request is retried at growing intervals, but not forever.
func TestThrottled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{throttles: 5}
		began := time.Now()
		if _, err := l.open(t).Stack(t.Context(), "main"); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != 6200*time.Millisecond {
			t.Errorf("it waited %v", took)
		}
		l = &ledger{throttles: 6}
		if _, err := l.open(t).Stack(t.Context(), "main"); err == nil || len(l.calls) != 6 {
			t.Errorf("%d calls, %v", len(l.calls), err)
		}
	})
}

// group is a group in a response from Cost Explorer.
func group(service, project, amount string) string {
	return fmt.Sprintf(`{"Keys":[%q,"zerodag-project$%s"],"Metrics":{"UnblendedCost":{"Amount":%q,"Unit":"USD"}}}`, service, project, amount)
}

func costPage(next string, groups ...string) string {
	return fmt.Sprintf(`{"ResultsByTime":[{"TimePeriod":{"Start":"2026-10-01","End":"2026-11-01"},"Total":{},"Groups":[%s],"Estimated":%t}]%s}`, strings.Join(groups, ","), next == "", next)
}

// TestBilled proves that all of Cost Explorer's pages are added up, that each page counts as a paid request, and that
// the right data of the right region is requested.
func TestBilled(t *testing.T) {
	t.Parallel()
	l := &ledger{pages: []string{
		costPage(`,"NextPageToken":"1"`, group("AWS Lambda", "", "0.1"), group("Amazon Elastic Container Service", "7", "2.5000000001")),
		costPage("", group("AWS Lambda", "", "0.2"), group("Amazon Elastic Container Service", "8", "-0.5")),
	}}
	bill, err := l.open(t).Billed(t.Context(), "main", october, november)
	if err != nil {
		t.Fatal(err)
	}
	if bill.Requests != 2 || !bill.Estimate || len(bill.Lines) != 3 || math.Abs(bill.Dollars-2.3000000001) > 1e-12 {
		t.Errorf("%+v", bill)
	}
	if x := bill.Lines[0]; x.Service != "AWS Lambda" || x.ProjectID != "" || math.Abs(x.Dollars-0.3) > 1e-12 {
		t.Errorf("a service on two pages: %+v", x)
	}
	if x := bill.Lines[2]; x.ProjectID != "8" || x.Dollars != -0.5 {
		t.Errorf("a credit: %+v", x)
	}
	for _, want := range []string{"ce us-east-1 ce.us-east-1.amazonaws.com ", `"Start":"2026-10-01"`, `"End":"2026-11-01"`, `"Values":["eu-central-1"]`, `"Key":"aws:cloudformation:stack-name"`, `"Values":["zerodag-main"]`, `"Key":"zerodag-stage"`, `"Values":["main"]`} {
		if !strings.Contains(l.seen[0], want) {
			t.Errorf("%s was asked, without %s", l.seen[0], want)
		}
	}
	if !strings.Contains(l.seen[1], `"NextPageToken":"1"`) {
		t.Errorf("the second page: %s", l.seen[1])
	}
	empty := &ledger{pages: []string{`{"ResultsByTime":[{"TimePeriod":{"Start":"2026-10-01","End":"2026-11-01"},"Total":{},"Groups":[],"Estimated":false}]}`}}
	if bill, err := empty.open(t).Billed(t.Context(), "main", october, november); err != nil || len(bill.Lines) != 0 || bill.Requests != 1 || bill.Estimate {
		t.Errorf("an empty month: %+v, %v", bill, err)
	}
	for name, page := range map[string]string{
		"another currency": strings.Replace(costPage("", group("AWS Lambda", "", "1")), "USD", "CNY", 1), "no number": costPage("", group("AWS Lambda", "", "many")),
		"no tag": strings.Replace(costPage("", group("AWS Lambda", "", "1")), `,"zerodag-project$"`, "", 1),
	} {
		if bill, err := (&ledger{pages: []string{page}}).open(t).Billed(t.Context(), "main", october, november); err == nil {
			t.Errorf("%s was taken: %+v", name, bill)
		}
	}
	bill, err = (&ledger{denied: "GetCostAndUsage"}).open(t).Billed(t.Context(), "main", october, november)
	if !account.IsDenied(err) || bill.Requests != 1 || !strings.Contains(account.WhyUnknown(err, "ce:GetCostAndUsage"), "lack the permission ce:GetCostAndUsage") {
		t.Errorf("not allowed: %+v, %v", bill, err)
	}
	_, err = (&ledger{refusal: "DataUnavailableException"}).open(t).Billed(t.Context(), "main", october, november)
	if err == nil || !strings.Contains(account.WhyUnknown(err, ""), "after it is enabled") {
		t.Errorf("no data: %v", err)
	}
}
