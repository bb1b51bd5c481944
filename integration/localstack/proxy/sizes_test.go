package proxy

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestSizes checks that requests larger than AWS accepts are refused, that requests of the largest accepted size are
// not, and that the refusal is in the service's form. LocalStack itself accepts all of these.
func TestSizes(t *testing.T) {
	t.Parallel()
	parameter := func(name, tier string, size int) string {
		return fmt.Sprintf(`{"Name":%q,"Tier":%q,"Value":%q}`, name, tier, strings.Repeat("x", size))
	}
	events := func(n, size int) string {
		entry := fmt.Sprintf(`{"Source":"s","DetailType":"d","Detail":%q}`, strings.Repeat("x", size))
		return `{"Entries":[` + strings.TrimSuffix(strings.Repeat(entry+",", n), ",") + `]}`
	}
	attributes := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`"%d":{"DataType":"String","StringValue":"x"}`, i))
		}
		return `{"QueueUrl":"q","Entries":[{"MessageAttributes":{` + strings.Join(list, ",") + `}}]}`
	}
	objects := func(n int) string {
		return "<Delete>" + strings.Repeat("<Object><Key>k</Key></Object>", n) + "</Delete>"
	}
	subject := func(s string) string { return "Action=Publish&TopicArn=a&Subject=" + s }
	for name, c := range map[string]struct {
		method, url, target, service, header string
		taken, refused                       string // bodies; of header: the lengths in "header"
		code                                 string
	}{
		"delay":       {target: "AmazonSQS.SendMessage", service: "sqs", taken: `{"DelaySeconds":900}`, refused: `{"DelaySeconds":901}`, code: "InvalidParameterValue"},
		"attributes":  {target: "AmazonSQS.SendMessageBatch", service: "sqs", taken: attributes(10), refused: attributes(11), code: "InvalidParameterValue"},
		"parameter":   {target: "AmazonSSM.PutParameter", service: "ssm", taken: parameter("/a", "", 4096), refused: parameter("/a", "", 4097), code: "ValidationException"},
		"advanced":    {target: "AmazonSSM.PutParameter", service: "ssm", taken: parameter("/a", "Advanced", 8192), refused: parameter("/a", "Advanced", 8193), code: "ValidationException"},
		"nested":      {target: "AmazonSSM.PutParameter", service: "ssm", taken: `{"Name":"a","Value":"{x}"}`, refused: `{"Name":"a","Value":"{{x}}"}`, code: "ValidationException"},
		"characters":  {target: "AmazonSSM.PutParameter", service: "ssm", taken: parameter("/a/b.c-d_e", "", 1), refused: parameter("/a/b c", "", 1), code: "ValidationException"},
		"levels":      {target: "AmazonSSM.PutParameter", service: "ssm", taken: parameter(strings.Repeat("/a", 15), "", 1), refused: parameter(strings.Repeat("/a", 16), "", 1), code: "HierarchyLevelLimitExceededException"},
		"name":        {target: "AmazonSSM.PutParameter", service: "ssm", taken: parameter("/"+strings.Repeat("n", 900), "", 1), refused: parameter("/"+strings.Repeat("n", 1000), "", 1), code: "ValidationException"},
		"event":       {target: "AWSEvents.PutEvents", service: "events", taken: events(1, 262_000), refused: events(1, 262_144), code: "ValidationException"},
		"events":      {target: "AWSEvents.PutEvents", service: "events", taken: events(2, 131_000), refused: events(2, 131_072), code: "ValidationException"},
		"overrides":   {target: "AmazonEC2ContainerServiceV20141113.RunTask", service: "ecs", taken: `{"overrides":{"cpu":"1"}}`, refused: `{"overrides":{"cpu":"` + strings.Repeat("1", 8192) + `"}}`, code: "InvalidParameterException"},
		"subject":     {service: "sns", taken: subject(strings.Repeat("s", 99)), refused: subject(strings.Repeat("s", 100)), code: "<Code>InvalidParameter</Code>"},
		"line":        {service: "sns", taken: subject("a+b"), refused: subject("a%0Ab"), code: "<Code>InvalidParameter</Code>"},
		"letters":     {service: "sns", taken: subject("a%20b"), refused: subject("%C3%BC"), code: "<Code>InvalidParameter</Code>"},
		"call":        {url: "/2015-03-31/functions/f/invocations", service: "lambda", taken: strings.Repeat("x", 6<<20), refused: strings.Repeat("x", 6<<20+1), code: "RequestEntityTooLargeException"},
		"later call":  {url: "/2015-03-31/functions/f/invocations", service: "lambda", header: "Event", taken: strings.Repeat("x", 1<<20), refused: strings.Repeat("x", 1<<20+1), code: "RequestEntityTooLargeException"},
		"objects":     {url: "/b?delete", service: "s3", taken: objects(1000), refused: objects(1001), code: "<Code>MalformedXML</Code>"},
		"other calls": {target: "AmazonSSM.GetParameters", service: "ssm", taken: `{"Names":["a b"]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			look := func(body string) (*excess, Call) {
				method := c.method
				if method == "" {
					method = http.MethodPost
				}
				r := request(t, method, "http://h"+c.url, c.target, c.service, body)
				r.Header.Set("X-Amz-Invocation-Type", c.header)
				call := identify(r, []byte(body))
				return excessOf(call, r, []byte(body)), call
			}
			if x, _ := look(c.taken); x != nil {
				t.Errorf("what AWS takes is refused: %v", x)
			}
			if c.refused == "" {
				return
			}
			x, call := look(c.refused)
			if x == nil {
				t.Fatal("what AWS refuses is taken")
			}
			if a := x.answer(call); a.status/100 != 4 || !strings.Contains(string(a.body), c.code) {
				t.Errorf("refused with %d %s", a.status, a.body)
			}
		})
	}
}

// TestObjectSizes checks the same for requests to S3.
func TestObjectSizes(t *testing.T) {
	t.Parallel()
	r := request(t, http.MethodPut, "http://h/b/k", "", "s3", "x")
	r.Header.Set("X-Amz-Meta-A", strings.Repeat("m", 2047))
	r.ContentLength = 5 << 30
	if x := objectExcess(r, nil); x != nil {
		t.Errorf("what AWS takes is refused: %v", x)
	}
	r.Header.Set("X-Amz-Meta-A", strings.Repeat("m", 2048))
	if x := objectExcess(r, nil); x == nil || x.code != "MetadataTooLarge" {
		t.Errorf("metadata over 2 KB: %v", x)
	}
	r.Header.Del("X-Amz-Meta-A")
	r.ContentLength++
	if x := objectExcess(r, nil); x == nil || x.code != "EntityTooLarge" {
		t.Errorf("an object over 5 GB in one request: %v", x)
	}
}

// TestRefusedForSize checks that such a call never reaches LocalStack and is recorded.
func TestRefusedForSize(t *testing.T) {
	t.Parallel()
	p := Start(t, "http://127.0.0.1:1")
	out, err := http.DefaultClient.Do(request(t, http.MethodPost, p.URL, "AmazonSQS.SendMessage", "sqs", `{"DelaySeconds":901}`))
	if err != nil {
		t.Fatal(err)
	}
	out.Body.Close()
	if out.StatusCode != http.StatusBadRequest || len(p.Excesses()) != 1 {
		t.Errorf("%d, remembered: %v", out.StatusCode, p.Excesses())
	}
}
