package proxy

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// Call is an operation of a service: {"dynamodb", "PutItem"}.
type Call struct{ Service, Operation string }

// targets holds services by the prefix of X-Amz-Target.
var targets = map[string]string{"DynamoDB_20120810": "dynamodb", "AmazonSQS": "sqs", "AmazonSSM": "ssm", "AWSEvents": "events", "AmazonEC2ContainerServiceV20141113": "ecs"}

var scope = regexp.MustCompile(`Credential=[^/]*/[0-9]*/[^/]*/([a-z0-9-]*)/aws4_request`)

// identify returns the service and the operation of a request: JSON services by their target, others by the scope of
// the signature.
func identify(r *http.Request, body []byte) Call {
	if prefix, operation, ok := strings.Cut(r.Header.Get("X-Amz-Target"), "."); ok {
		if name := targets[prefix]; name != "" {
			return Call{name, operation}
		}
		return Call{strings.ToLower(prefix), operation}
	}
	credential := r.Header.Get("Authorization")
	if q := r.URL.Query().Get("X-Amz-Credential"); q != "" {
		credential = "Credential=" + q
	}
	name := "unknown"
	if m := scope.FindStringSubmatch(credential); m != nil {
		name = m[1]
	}
	if name == "s3" {
		return Call{name, objectOperation(r)}
	}
	if form, err := url.ParseQuery(string(body)); err == nil && form.Get("Action") != "" {
		return Call{name, form.Get("Action")}
	}
	return Call{name, r.Method + " " + r.URL.Path}
}

// objectOperation distinguishes the operations that S3 bills separately.
func objectOperation(r *http.Request) string {
	if r.Method == http.MethodGet && strings.Count(strings.Trim(r.URL.Path, "/"), "/") == 0 {
		return "LIST"
	}
	return r.Method
}
