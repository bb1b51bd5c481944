package proxy

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Size limits that AWS enforces and LocalStack does not.
const (
	mostObject      = 5 << 30   // bytes of one PUT
	mostMetadata    = 2 << 10   // bytes of an object's own metadata
	mostDeleted     = 1000      // objects of one DeleteObjects
	longestDelay    = 900       // seconds of a message
	mostAttributes  = 10        // of a message
	mostSubject     = 100       // a notice's subject has fewer characters than this
	mostEvents      = 256 << 10 // bytes of all entries of one PutEvents
	mostParameter   = 4 << 10   // bytes of a standard parameter
	mostAdvanced    = 8 << 10   // bytes of an advanced parameter
	mostName        = 1011      // characters of a parameter's ARN
	mostLevels      = 15        // of a parameter's name
	mostInvocation  = 6 << 20   // bytes of a call that waits for its response
	mostLaterOne    = 1 << 20   // bytes of a call that does not wait
	mostOverrides   = 8192      // characters of an ECS task's overrides
	metadataPrefix  = "X-Amz-Meta-"
	invocationIsOne = "RequestResponse"
)

// excess is AWS's error about the size of a request; nil if there is none.
type excess struct {
	status     int
	code, text string
}

// excessOf checks the sizes that LocalStack accepts and AWS does not.
func excessOf(c Call, r *http.Request, body []byte) *excess {
	switch c.Service {
	case "s3":
		return objectExcess(r, body)
	case "sqs":
		return messageExcess(body)
	case "sns":
		return noticeExcess(c, body)
	case "events":
		return eventExcess(c, body)
	case "ssm":
		return parameterExcess(c, body)
	case "lambda":
		return invocationExcess(r, body)
	case "ecs":
		return overrideExcess(body)
	}
	return nil
}

func tooMuch(code, format string, args ...any) *excess {
	return &excess{http.StatusBadRequest, code, fmt.Sprintf(format, args...)}
}

func objectExcess(r *http.Request, body []byte) *excess {
	metadata := 0
	for name, values := range r.Header {
		if strings.HasPrefix(name, metadataPrefix) {
			metadata += len(name) - len(metadataPrefix) + len(strings.Join(values, ""))
		}
	}
	switch {
	case r.Method == http.MethodPut && r.ContentLength > mostObject:
		return tooMuch("EntityTooLarge", "Your proposed upload exceeds the maximum allowed size")
	case metadata > mostMetadata:
		return tooMuch("MetadataTooLarge", "Your metadata headers exceed the maximum allowed metadata size")
	case r.Method == http.MethodPost && r.URL.Query().Has("delete"):
		var in struct {
			Object []struct{ Key string }
		}
		if xml.Unmarshal(body, &in) == nil && len(in.Object) > mostDeleted {
			return tooMuch("MalformedXML", "The XML you provided was not well-formed or did not validate against our published schema")
		}
	}
	return nil
}

func messageExcess(body []byte) *excess {
	type one struct {
		DelaySeconds      int
		MessageAttributes map[string]json.RawMessage
	}
	var in struct {
		one
		Entries []one
	}
	if json.Unmarshal(body, &in) != nil {
		return nil
	}
	for _, m := range append(in.Entries, in.one) {
		switch {
		case m.DelaySeconds > longestDelay:
			return tooMuch("InvalidParameterValue", "Value %d for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= %d.", m.DelaySeconds, longestDelay)
		case len(m.MessageAttributes) > mostAttributes:
			return tooMuch("InvalidParameterValue", "Number of message attributes [%d] exceeds the allowed maximum [%d].", len(m.MessageAttributes), mostAttributes)
		}
	}
	return nil
}

func noticeExcess(c Call, body []byte) *excess {
	form, err := url.ParseQuery(string(body))
	if err != nil || c.Operation != "Publish" || !form.Has("Subject") {
		return nil
	}
	subject := form.Get("Subject")
	bad := func(r rune) bool { return r < ' ' || r >= utf8.RuneSelf }
	if subject == "" || len(subject) >= mostSubject || strings.ContainsFunc(subject, bad) {
		return tooMuch("InvalidParameter", "Invalid parameter: Subject")
	}
	return nil
}

func eventExcess(c Call, body []byte) *excess {
	var in struct {
		Entries []struct {
			Time                       json.RawMessage
			Source, DetailType, Detail string
			Resources                  []string
		}
	}
	if c.Operation != "PutEvents" || json.Unmarshal(body, &in) != nil {
		return nil
	}
	size := 0
	for _, e := range in.Entries {
		size += len(e.Source) + len(e.DetailType) + len(e.Detail) + len(strings.Join(e.Resources, ""))
		if e.Time != nil {
			size += 14
		}
	}
	if size >= mostEvents {
		return tooMuch("ValidationException", "Total size of the entries in the request is over the limit.")
	}
	return nil
}

// parameterName matches valid names.
var parameterName = regexp.MustCompile(`^[a-zA-Z0-9_.\-/]+$`)

func parameterExcess(c Call, body []byte) *excess {
	var in struct{ Name, Value, Tier string }
	if c.Operation != "PutParameter" || json.Unmarshal(body, &in) != nil {
		return nil
	}
	most := mostParameter
	if in.Tier == "Advanced" || in.Tier == "Intelligent-Tiering" {
		most = mostAdvanced
	}
	switch {
	case len(in.Value) > most:
		return tooMuch("ValidationException", "The parameter has a value of %d bytes. A parameter of this tier takes %d.", len(in.Value), most)
	case strings.Contains(in.Value, "{{"):
		return tooMuch("ValidationException", "Parameter value: %d bytes, can't nest another parameter.", len(in.Value))
	case !parameterName.MatchString(in.Name):
		return tooMuch("ValidationException", "Parameter name: can't have characters other than a-z, A-Z, 0-9, and the symbols . - _ and /.")
	case len(arn("ssm", "parameter/"+strings.TrimPrefix(in.Name, "/"))) > mostName:
		return tooMuch("ValidationException", "Parameter name is too long: %d characters of its ARN are the most.", mostName)
	case strings.Count(strings.Trim(in.Name, "/"), "/") >= mostLevels:
		return tooMuch("HierarchyLevelLimitExceededException", "A parameter name can have %d levels.", mostLevels)
	}
	return nil
}

func invocationExcess(r *http.Request, body []byte) *excess {
	most := mostInvocation
	if kind := r.Header.Get("X-Amz-Invocation-Type"); kind != "" && kind != invocationIsOne {
		most = mostLaterOne
	}
	if strings.HasSuffix(r.URL.Path, "/invocations") && len(body) > most {
		return &excess{http.StatusRequestEntityTooLarge, "RequestEntityTooLargeException", fmt.Sprintf("Request must be smaller than %d bytes for the InvokeFunction operation", most)}
	}
	return nil
}

func overrideExcess(body []byte) *excess {
	var in struct{ Overrides json.RawMessage }
	if json.Unmarshal(body, &in) == nil && len(in.Overrides) > mostOverrides {
		return tooMuch("InvalidParameterException", "Container Overrides length must be at most %d", mostOverrides)
	}
	return nil
}

// answer returns the error in the service's form.
func (e *excess) answer(c Call) answer {
	switch c.Service {
	case "s3":
		return answer{e.status, http.Header{"Content-Type": {"application/xml"}}, []byte("<Error><Code>" + e.code + "</Code><Message>" + e.text + "</Message></Error>")}
	case "sns":
		return answer{e.status, http.Header{"Content-Type": {"text/xml"}},
			[]byte(`<ErrorResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><Error><Type>Sender</Type><Code>` + e.code + "</Code><Message>" + e.text + "</Message></Error></ErrorResponse>")}
	}
	text, _ := json.Marshal(map[string]string{"__type": e.code, "message": e.text}) // strings only
	return answer{e.status, http.Header{"Content-Type": {"application/x-amz-json-1.0"}, "X-Amzn-Errortype": {e.code}}, text}
}
