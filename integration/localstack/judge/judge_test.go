package judge_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/integration/localstack"
	"zerodag/integration/localstack/judge"
)

// verdict is the output of the judge.
type verdict struct {
	Requests, Operations          int
	Violations, Warnings, Missing []string
}

// judged makes a judge read messages in a separate process, so that they do not count for the run of the tests.
func judged(t *testing.T, messages ...judge.Message) verdict {
	t.Helper()
	localstack.Config(t) // this also installs the judge's requirements
	var text bytes.Buffer
	for _, m := range messages {
		m.Answered = [][2]string{}
		if err := m.Write(&text); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "messages")
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("../localstack.sh", "judge", file)
	var wrong bytes.Buffer
	c.Stderr = &wrong
	out, err := c.Output()
	var v verdict
	if e := json.Unmarshal(out, &v); e != nil {
		t.Fatalf("%v, %v: %s%s", err, e, out, wrong.Bytes())
	}
	if bad := len(v.Violations)+len(v.Missing) > 0; bad != (err != nil) {
		t.Errorf("the judge ended with %v: %s", err, out)
	}
	return v
}

func jsonCall(service, version, operation, body string) judge.Message {
	return judge.Message{Service: service, Operation: operation, Protocol: "json", Method: http.MethodPost, Target: "/", Body: []byte(body),
		Headers: [][2]string{{"Content-Type", "application/x-amz-json-" + version}, {"X-Amz-Target", "S." + operation}, {"Host", "h"}}}
}

func form(service, operation, fields string) judge.Message {
	return judge.Message{Service: service, Operation: operation, Protocol: "query", Method: http.MethodPost, Target: "/",
		Headers: [][2]string{{"Content-Type", "application/x-www-form-urlencoded"}}, Body: []byte("Action=" + operation + "&Version=1" + fields)}
}

func rest(service, protocol, operation, method, target, body string, headers ...string) judge.Message {
	m := judge.Message{Service: service, Operation: operation, Protocol: protocol, Method: method, Target: target, Headers: [][2]string{}, Body: []byte(body)}
	for i := 0; i < len(headers); i += 2 {
		m.Headers = append(m.Headers, [2]string{headers[i], headers[i+1]})
	}
	return m
}

// packed is a request in CBOR. No value of the tests has more than 23 members or bytes, so that each length fits into
// one byte.
func packed(operation string, in any) judge.Message {
	return judge.Message{Service: "cloudwatch", Operation: operation, Protocol: "smithy-rpc-v2-cbor", Method: http.MethodPost, Target: "/service/GraniteServiceVersion20100801/operation/" + operation,
		Body: pack(nil, in), Headers: [][2]string{{"Smithy-Protocol", "rpc-v2-cbor"}, {"Content-Type", "application/cbor"}}}
}

func pack(to []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		return append(append(to, 0x60|byte(len(v))), v...)
	case float64:
		return binary.BigEndian.AppendUint64(append(to, 0xfb), math.Float64bits(v))
	case []any:
		to = append(to, 0x80|byte(len(v)))
		for _, x := range v {
			to = pack(to, x)
		}
		return to
	case map[string]any:
		to = append(to, 0xa0|byte(len(v)))
		for key, x := range v {
			to = pack(pack(to, key), x)
		}
		return to
	}
	panic("a type that no test has")
}

// TestPlanted checks that one violation of each rule is found in each protocol, and nothing else, and that the same
// request without the violation has none.
func TestPlanted(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 129)
	text := base64.StdEncoding.EncodeToString([]byte("x"))
	cases := []struct {
		name string
		m    judge.Message
		want string // the beginning of the violation after service and operation; "" for none
	}{
		{"json", jsonCall("ssm", "1.1", "PutParameter", `{"Name": "/a", "Value": "v", "Type": "SecureString"}`), ""},
		{"json: null counts as missing", jsonCall("ssm", "1.1", "PutParameter", `{"Name": "/a", "Value": "v", "Type": null}`), ""},
		{"json: null for a required member", jsonCall("ssm", "1.1", "PutParameter", `{"Name": "/a", "Value": null}`), ".Value: required"},
		{"json: required", jsonCall("ssm", "1.1", "PutParameter", `{"Value": "v"}`), ".Name: required"},
		{"json: required in an element", jsonCall("sqs", "1.0", "SendMessageBatch", `{"QueueUrl": "q", "Entries": [{"Id": "1", "MessageBody": "b"}, {"Id": "2"}]}`), ".Entries[].MessageBody: required"},
		{"json: enum", jsonCall("ssm", "1.1", "PutParameter", `{"Name": "/a", "Value": "v", "Type": "Secret"}`), ".Type: enum: 'Secret'"},
		{"json: empty name", jsonCall("ssm", "1.1", "PutParameter", `{"Name": "", "Value": "v"}`), ".Name: at least 1 characters"},
		{"json: too long", jsonCall("dynamodb", "1.0", "PutItem", `{"TableName": "`+strings.Repeat("x", 1025)+`", "Item": {}}`), ".TableName: at most 1024 characters, not 1025"},
		{"json: length in characters", jsonCall("glue", "1.1", "StartJobRun", `{"JobName": "`+strings.Repeat("ü", 255)+`"}`), ""},
		{"json: characters beyond U+FFFF", jsonCall("glue", "1.1", "StartJobRun", `{"JobName": "😀"}`), ""},
		{"json: token too long", jsonCall("athena", "1.1", "StartQueryExecution", `{"QueryString": "select 1", "ClientRequestToken": "`+long+`"}`), ".ClientRequestToken: at most 128 characters"},
		{"json: token too short", jsonCall("athena", "1.1", "StartQueryExecution", `{"QueryString": "select 1", "ClientRequestToken": "x"}`), ".ClientRequestToken: at least 32 characters"},
		{"json: pattern", jsonCall("events", "1.1", "PutRule", `{"Name": "a b"}`), ".Name: pattern "},
		{"json: number too large", jsonCall("dynamodb", "1.0", "Scan", `{"TableName": "table", "TotalSegments": 1000001, "Segment": 0}`), ".TotalSegments: at most 1000000: 1000001"},
		{"json: number too small", jsonCall("dynamodb", "1.0", "Query", `{"TableName": "table", "Limit": 0}`), ".Limit: at least 1: 0"},
		{"json: list too long", jsonCall("ssm", "1.1", "GetParameters", `{"Names": ["1","2","3","4","5","6","7","8","9","10","11"]}`), ".Names: at most 10 elements, not 11"},
		{"json: list too short", jsonCall("dynamodb", "1.0", "TransactWriteItems", `{"TransactItems": []}`), ".TransactItems: at least 1 elements"},
		{"json: union", jsonCall("dynamodb", "1.0", "PutItem", `{"TableName": "table", "Item": {"k": {"S": "a", "N": "1"}}}`), ".Item{}: one member of the union, not 2"},
		{"json: empty union", jsonCall("dynamodb", "1.0", "PutItem", `{"TableName": "table", "Item": {"k": {"L": [{}]}}}`), ".Item{}.L[]: one member of the union, not 0"},
		{"json: unknown member", jsonCall("sqs", "1.0", "SendMessage", `{"QueueUrl": "q", "MessageBody": "b", "DelaySecond": 1}`), ".DelaySecond: unknown member: 1"},
		{"json: type", jsonCall("sqs", "1.0", "SendMessage", `{"QueueUrl": "q", "MessageBody": 5}`), ".MessageBody: type string: 5"},
		{"json: not true", jsonCall("ssm", "1.1", "PutParameter", `{"Name": "/a", "Value": "v", "Overwrite": "true"}`), ".Overwrite: type boolean"},
		{"json: a fraction", jsonCall("sqs", "1.0", "SendMessage", `{"QueueUrl": "q", "MessageBody": "b", "DelaySeconds": 1.5}`), ".DelaySeconds: type integer: 1.5"},
		{"json: blob", jsonCall("dynamodb", "1.0", "PutItem", `{"TableName": "table", "Item": {"k": {"B": "`+text+`"}}}`), ""},
		{"json: not base64", jsonCall("dynamodb", "1.0", "PutItem", `{"TableName": "table", "Item": {"k": {"B": "?"}}}`), ".Item{}.B: type blob in base64"},
		{"json: timestamp", jsonCall("events", "1.1", "PutEvents", `{"Entries": [{"Source": "s", "Detail": "{}", "DetailType": "t", "Time": 1700000000.123}]}`), ""},
		{"json: timestamp as text", jsonCall("events", "1.1", "PutEvents", `{"Entries": [{"Source": "s", "Time": "2026-01-01T00:00:00Z"}]}`), ".Entries[].Time: timestamp as unixTimestamp"},
		{"json: unknown header", judge.Message{Service: "sqs", Operation: "ListQueues", Protocol: "json", Method: "POST", Target: "/", Body: []byte("{}"),
			Headers: [][2]string{{"Content-Type", "application/x-amz-json-1.0"}, {"X-Amz-Trace", "1"}}}, "@x-amz-trace: unknown header"},
		{"json: version", jsonCall("sqs", "1.1", "ListQueues", `{}`), "@content-type: content type application/x-amz-json-1.0"},
		{"json: cut off", jsonCall("sqs", "1.0", "ListQueues", `{"MaxResults": `), "(request): JSON"},
		{"no such operation", jsonCall("sqs", "1.0", "SendMessages", `{}`), "(request): operation: 'SendMessages POST /'"},
		{"Step Functions: name", jsonCall("stepfunctions", "1.0", "StartExecution", `{"stateMachineArn": "arn", "name": "`+strings.Repeat("x", 81)+`"}`), ".name: at most 80 characters, not 81"},

		{"query", form("sns", "Publish", "&TopicArn=t&Message=m&MessageAttributes.entry.1.Name=a&MessageAttributes.entry.1.Value.DataType=String&MessageAttributes.entry.1.Value.StringValue=v"), ""},
		{"query: required", form("sns", "Publish", "&TopicArn=t"), ".Message: required"},
		{"query: required in a map", form("sns", "Publish", "&TopicArn=t&Message=m&MessageAttributes.entry.1.Name=a&MessageAttributes.entry.1.Value.StringValue=v"), ".MessageAttributes{}.DataType: required"},
		{"query: unknown", form("sns", "Publish", "&TopicArn=t&Message=m&Subjekt=s"), ".Subjekt: unknown member: 's'"},
		{"query: unknown below", form("sns", "Publish", "&TopicArn=t&Message=m&MessageAttributes.entry.1.Name=a&MessageAttributes.entry.1.Value.DataType=String&MessageAttributes.entry.1.Value.Text=v"),
			".MessageAttributes{}.Text: unknown member"},
		{"query: elements", form("sns", "PublishBatch", "&TopicArn=t&PublishBatchRequestEntries.member.2.Id=a&PublishBatchRequestEntries.member.2.Message=m"), ".PublishBatchRequestEntries: elements from 1 on"},
		{"query: pattern", form("sts", "AssumeRole", "&RoleArn=arn:aws:iam::000000000000:role/r&RoleSessionName=a%20b"), ".RoleSessionName: pattern"},
		{"query: number", form("sts", "AssumeRole", "&RoleArn=arn:aws:iam::000000000000:role/r&RoleSessionName=ab&DurationSeconds=899"), ".DurationSeconds: at least 900: 899"},
		{"query: type", form("sts", "AssumeRole", "&RoleArn=arn:aws:iam::000000000000:role/r&RoleSessionName=ab&DurationSeconds=1h"), ".DurationSeconds: type integer: '1h'"},
		{"query: enum", form("cloudformation", "DeleteStack", "&StackName=s&DeletionMode=FORCE"), ".DeletionMode: enum: 'FORCE'"},

		{"not enforced: the CDK is newer than the model", form("cloudformation", "CreateChangeSet", "&StackName=s&ChangeSetName=c&DeploymentConfig.Mode=FAST"), ""},
		{"not enforced: the same of a removal", form("cloudformation", "DeleteStack", "&StackName=s&DeploymentConfig="), ""},

		{"rest-json", rest("lambda", "rest-json", "Invoke", "POST", "/2015-03-31/functions/f/invocations?Qualifier=1", "{}", "X-Amz-Invocation-Type", "Event", "Host", "h"), ""},
		{"rest-json: enum in a header", rest("lambda", "rest-json", "Invoke", "POST", "/2015-03-31/functions/f/invocations", "{}", "X-Amz-Invocation-Type", "Later"), ".InvocationType: enum: 'Later'"},
		{"rest-json: unknown header", rest("lambda", "rest-json", "Invoke", "POST", "/2015-03-31/functions/f/invocations", "{}", "X-Amz-Invocation-Typ", "Event"), "@x-amz-invocation-typ: unknown header"},
		{"rest-json: unknown query", rest("lambda", "rest-json", "Invoke", "POST", "/2015-03-31/functions/f/invocations?qualifier=1", "{}"), "?qualifier: unknown query parameter"},
		{"rest-json: pattern in the path", rest("lambda", "rest-json", "Invoke", "POST", "/2015-03-31/functions/a%20b/invocations", "{}"), ".FunctionName: pattern"},
		{"rest-json: number in the query", rest("lambda", "rest-json", "ListFunctions", "GET", "/2015-03-31/functions?MaxItems=0", ""), ".MaxItems: at least 1: 0"},
		{"rest-json: member of the body", rest("emr-serverless", "rest-json", "StartJobRun", "POST", "/applications/abc/jobruns", `{"clientToken": "t", "executionRoleArn": "arn:aws:iam::123456789012:role/r", "jobDriver": {"hive": {"query": "q"}, "sparkSubmit": {"entryPoint": "e"}}}`),
			".jobDriver: one member of the union, not 2"},
		{"rest-json: member of the path in the body", rest("emr-serverless", "rest-json", "CancelJobRun", "DELETE", "/applications/abc/jobruns/def", `{"jobRunId": "def"}`), ".jobRunId: unknown member"},

		{"rest-xml", rest("s3", "rest-xml", "DeleteObjects", "POST", "/b?delete=", `<Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Object><Key>k</Key></Object><Object><Key>l</Key></Object></Delete>`), ""},
		{"rest-xml: required", rest("s3", "rest-xml", "DeleteObjects", "POST", "/b?delete=", `<Delete><Object><VersionId>1</VersionId></Object></Delete>`), ".Delete.Objects[].Key: required"},
		{"rest-xml: empty key", rest("s3", "rest-xml", "DeleteObjects", "POST", "/b?delete=", `<Delete><Object><Key></Key></Object></Delete>`), ".Delete.Objects[].Key: at least 1 characters"},
		{"rest-xml: unknown", rest("s3", "rest-xml", "DeleteObjects", "POST", "/b?delete=", `<Delete><Object><Key>k</Key><Version>1</Version></Object></Delete>`), ".Delete.Object[].Version: unknown member: '1'"},
		{"rest-xml: enum in a header", rest("s3", "rest-xml", "PutObject", "PUT", "/b/k", "", "X-Amz-Storage-Class", "COLD"), ".StorageClass: enum: 'COLD'"},
		{"rest-xml: time in a header", rest("s3", "rest-xml", "GetObject", "GET", "/b/k", "", "If-Modified-Since", "2026-01-01T00:00:00Z"), ".IfModifiedSince: timestamp as rfc822"},
		{"rest-xml: number in the query", rest("s3", "rest-xml", "ListObjectsV2", "GET", "/b?list-type=2&max-keys=all", ""), ".MaxKeys: type integer: 'all'"},
		{"rest-xml: metadata", rest("s3", "rest-xml", "PutObject", "PUT", "/b/a/b%20c", "", "X-Amz-Meta-Color", "blue", "Content-Type", "text/plain"), ""},
		{"rest-xml: signed link", rest("s3", "rest-xml", "PutObject", "PUT", "/b/k?X-Amz-Signature=s&X-Amz-Expires=60&X-Amz-Sdk-Checksum-Algorithm=SHA1&x-id=PutObject", ""), ""},
		{"rest-xml: signed link with an unknown value", rest("s3", "rest-xml", "PutObject", "PUT", "/b/k?X-Amz-Signature=s&X-Amz-Sdk-Checksum-Algorithm=SHA0", ""), ".ChecksumAlgorithm: enum: 'SHA0'"},

		{"ec2", judge.Message{Service: "ec2", Operation: "DescribeVpcs", Protocol: "ec2", Method: "POST", Target: "/", Headers: [][2]string{}, Body: []byte("Action=DescribeVpcs&Version=1&Filter.1.Name=is-default&Filter.1.Value.1=true")}, ""},
		{"ec2: unknown", judge.Message{Service: "ec2", Operation: "DescribeVpcs", Protocol: "ec2", Method: "POST", Target: "/", Headers: [][2]string{}, Body: []byte("Action=DescribeVpcs&Version=1&Filters.1.Name=is-default")}, ".Filters: unknown member"},

		{"cbor", packed("PutMetricData", map[string]any{"Namespace": "n", "MetricData": []any{map[string]any{"MetricName": "m", "Value": 1.5}}}), ""},
		{"cbor: required", packed("PutMetricData", map[string]any{"Namespace": "n", "MetricData": []any{map[string]any{"Value": 1.5}}}), ".MetricData[].MetricName: required"},
		{"cbor: unknown", packed("PutMetricData", map[string]any{"Namespace": "n", "Metrics": []any{}}), ".Metrics: unknown member"},
		{"cbor: empty name", packed("PutMetricData", map[string]any{"Namespace": ""}), ".Namespace: at least 1 characters"},
	}
	var messages []judge.Message
	for _, c := range cases {
		messages = append(messages, c.m)
	}
	all := judged(t, messages...)
	wanted := map[string]bool{"cloudwatch PutMetricData .Namespace: pattern [^:].*: ''": true} // which is equivalent to its minimum length
	if all.Requests != len(cases) {
		t.Errorf("%d requests were judged, not %d", all.Requests, len(cases))
	}
	for _, c := range cases {
		if c.want == "" {
			continue
		}
		label := c.m.Service + " " + c.m.Operation + " " + c.want
		i := slices.IndexFunc(all.Violations, func(v string) bool { return strings.HasPrefix(v, label) })
		if i < 0 {
			t.Errorf("%s: nothing begins with %q", c.name, label)
			continue
		}
		wanted[all.Violations[i]] = true
	}
	for _, v := range all.Violations {
		if !wanted[v] {
			t.Errorf("nobody planted: %s", v)
		}
	}
}

// TestUnnamed checks that the operation is found even if the emulator failed before it knew the operation.
func TestUnnamed(t *testing.T) {
	t.Parallel()
	var messages []judge.Message
	for _, m := range []judge.Message{
		jsonCall("ssm", "1.1", "PutParameter", `{"Name": "/a"}`),
		form("sns", "Publish", "&TopicArn=t"),
		rest("s3", "rest-xml", "GetObject", "GET", "/b/k/l?X-Amz-Signature=s&max=1", ""),
		rest("s3", "rest-xml", "UploadPart", "PUT", "/b/k?partNumber=x&uploadId=u", ""),
		rest("s3", "rest-xml", "CopyObject", "PUT", "/b/k?max=1", "", "X-Amz-Copy-Source", "b/c"),
		rest("s3", "rest-xml", "PutObject", "PUT", "/b/k?max=1", ""),
		rest("s3", "rest-xml", "ListObjectsV2", "GET", "/b?list-type=2&max=1", ""),
		rest("lambda", "rest-json", "Invoke", "POST", "/2015-03-31/functions/f/invocations?max=1", ""),
		packed("PutMetricData", map[string]any{"Namespace": "n", "Metrics": []any{}}),
	} {
		m.Operation = ""
		messages = append(messages, m)
	}
	var got []string
	for _, v := range judged(t, messages...).Violations {
		got = append(got, strings.Join(strings.Fields(v)[:3], " "))
	}
	want := []string{"cloudwatch PutMetricData .Metrics:", "lambda Invoke ?max:", "s3 CopyObject ?max:", "s3 GetObject ?max:", "s3 ListObjectsV2 ?max:", "s3 PutObject ?max:", "s3 UploadPart .PartNumber:",
		"sns Publish .Message:", "ssm PutParameter .Value:"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestAnnounced checks that a violation that a test announces does not count, but that any other violation and the
// absence of the announced one do.
func TestAnnounced(t *testing.T) {
	t.Parallel()
	announced := func(body string) judge.Message {
		m := jsonCall("ssm", "1.1", "PutParameter", body)
		m.Headers = append(m.Headers, [2]string{"X-Judge-Expects", ".Type: enum"})
		return m
	}
	v := judged(t, announced(`{"Name": "/a", "Value": "v", "Type": "Secret"}`))
	if len(v.Violations) > 0 || v.Requests != 1 {
		t.Errorf("an announced violation: %+v", v)
	}
	v = judged(t, announced(`{"Name": "", "Value": "v", "Type": "Secret"}`), announced(`{"Name": "/a", "Value": "v"}`))
	want := []string{"ssm PutParameter (request): announced violation: '.Type: enum'", "ssm PutParameter .Name: at least 1 characters: ''"}
	if diff := cmp.Diff(want, v.Violations); diff != "" {
		t.Error(diff)
	}
}

// TestNothing checks that a verdict fails if there were no requests.
func TestNothing(t *testing.T) {
	t.Parallel()
	if v := judged(t); len(v.Missing) != 1 || v.Requests != 0 {
		t.Errorf("%+v", v)
	}
}

// TestAnswers checks that fields that an emulator adds to the model are reported but do not fail the run.
func TestAnswers(t *testing.T) {
	t.Parallel()
	list := jsonCall("sqs", "1.0", "ListQueues", `{}`)
	list.Status, list.Answer = http.StatusOK, []byte(`{"QueueUrls": ["a"], "Queues": 1}`)
	publish := form("sns", "Publish", "&TopicArn=t&Message=m")
	publish.Status, publish.Answer = http.StatusOK, []byte(`<PublishResponse><PublishResult><MessageId>1</MessageId><Id>2</Id></PublishResult><ResponseMetadata/></PublishResponse>`)
	refused := jsonCall("sqs", "1.0", "ListQueues", `{}`)
	refused.Status, refused.Answer = http.StatusBadRequest, []byte(`{"__type": "t"}`)
	v := judged(t, list, publish, refused)
	want := []string{"sns Publish .Id: unknown member: '2'", "sqs ListQueues .Queues: unknown member: 1"}
	if diff := cmp.Diff(want, v.Warnings); diff != "" || len(v.Violations) > 0 {
		t.Errorf("%s %v", diff, v.Violations)
	}
}
