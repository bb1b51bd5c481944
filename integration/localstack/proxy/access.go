package proxy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"zerodag/integration/localstack/iam"
)

// region is LocalStack's region in all tests.
const region = "us-east-1"

func arn(service, resource string) string {
	return "arn:aws:" + service + ":" + region + ":" + iam.Account + ":" + resource
}

// accesses returns what IAM checks for a call: an action on each resource. An error means that the accesses of this
// call are not in the table yet.
func accesses(c Call, r *http.Request, body []byte) ([]iam.Access, error) {
	switch c.Service {
	case "dynamodb":
		return tableAccess(c.Operation, body)
	case "s3":
		return objectAccess(r), nil
	case "ecs":
		return machineAccess(c.Operation, body)
	}
	var in struct {
		QueueUrl, Path, Name, TopicArn, FunctionName string
		Names                                        []string
		Entries                                      []struct{ EventBusName string }
	}
	if len(body) > 0 {
		json.Unmarshal(body, &in) // forms and payloads of functions do not have this shape
	}
	action := c.Service + ":" + c.Operation
	one := func(resource string) ([]iam.Access, error) {
		return []iam.Access{{Action: action, Resource: resource}}, nil
	}
	switch c.Service {
	case "sqs":
		action = strings.TrimSuffix(action, "Batch")
		return one(arn("sqs", in.QueueUrl[strings.LastIndexByte(in.QueueUrl, '/')+1:]))
	case "ssm":
		names := append(in.Names, in.Path, in.Name)
		return each(action, names, func(n string) string { return arn("ssm", "parameter/"+strings.TrimPrefix(n, "/")) })
	case "events":
		var buses []string
		for _, e := range in.Entries {
			buses = append(buses, e.EventBusName)
		}
		return each(action, buses, func(n string) string { return arn("events", "event-bus/"+n[strings.LastIndexByte(n, '/')+1:]) })
	case "sns":
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return nil, err
		}
		return one(form.Get("TopicArn"))
	case "lambda":
		if _, after, ok := strings.Cut(r.URL.Path, "/functions/"); ok && strings.HasSuffix(after, "/invocations") {
			action = "lambda:InvokeFunction"
			name, err := url.PathUnescape(strings.TrimSuffix(after, "/invocations"))
			if err != nil {
				return nil, err
			}
			return one(arn("lambda", "function:"+name[strings.LastIndexByte(name, ':')+1:]))
		}
	}
	return nil, fmt.Errorf("the permissions for %s %s are not listed", c.Service, c.Operation)
}

func each(action string, names []string, resource func(string) string) ([]iam.Access, error) {
	var list []iam.Access
	seen := map[string]bool{"": true}
	for _, n := range names {
		if !seen[n] {
			list = append(list, iam.Access{Action: action, Resource: resource(n)})
		}
		seen[n] = true
	}
	return list, nil
}

// tableAccess returns the actions on single rows: a transaction needs the actions of its parts.
func tableAccess(operation string, body []byte) ([]iam.Access, error) {
	type part struct{ TableName string }
	var in struct {
		TableName, IndexName string
		RequestItems         map[string]json.RawMessage
		TransactItems        []struct{ Put, Update, Delete, ConditionCheck, Get *part }
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, fmt.Errorf("read the DynamoDB call %s: %w", operation, err)
	}
	table := func(name string) string {
		return arn("dynamodb", "table/"+name[strings.LastIndexByte(name, '/')+1:])
	}
	var list []iam.Access
	add := func(operation string, p *part) {
		if p != nil {
			list = append(list, iam.Access{Action: "dynamodb:" + operation, Resource: table(p.TableName)})
		}
	}
	for _, x := range in.TransactItems {
		add("PutItem", x.Put)
		add("UpdateItem", x.Update)
		add("DeleteItem", x.Delete)
		add("ConditionCheckItem", x.ConditionCheck)
		add("GetItem", x.Get)
	}
	for name := range in.RequestItems {
		add(operation, &part{name})
	}
	switch {
	case in.TableName != "" && in.IndexName != "":
		list = append(list, iam.Access{Action: "dynamodb:" + operation, Resource: table(in.TableName) + "/index/" + in.IndexName})
	case in.TableName != "":
		add(operation, &part{in.TableName})
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("the DynamoDB call %s has no table name", operation)
	}
	return list, nil
}

// objectAccess returns the accesses of S3 calls in the form https://host/bucket/key.
func objectAccess(r *http.Request) []iam.Access {
	bucket, key, object := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	q := r.URL.Query()
	resource := "arn:aws:s3:::" + bucket
	if !object || key == "" {
		if r.Method == http.MethodPost && q.Has("delete") {
			return []iam.Access{{Action: "s3:DeleteObject", Resource: resource + "/*"}}
		}
		if q.Has("uploads") {
			return []iam.Access{{Action: "s3:ListBucketMultipartUploads", Resource: resource}}
		}
		return []iam.Access{{Action: "s3:ListBucket", Resource: resource, Context: prefixOf(q)}}
	}
	resource += "/" + key
	var list []iam.Access
	if source := r.Header.Get("X-Amz-Copy-Source"); source != "" {
		name, err := url.PathUnescape(strings.TrimPrefix(source, "/"))
		if err == nil {
			list = append(list, iam.Access{Action: "s3:GetObject", Resource: "arn:aws:s3:::" + name})
		}
	}
	action := "s3:PutObject" // also for parts, and for calls that begin and end an upload
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		action = "s3:GetObject"
		if q.Has("uploadId") {
			action = "s3:ListMultipartUploadParts"
		}
	case http.MethodDelete:
		action = "s3:DeleteObject"
		if q.Has("uploadId") {
			action = "s3:AbortMultipartUpload"
		}
	}
	return append(list, iam.Access{Action: action, Resource: resource})
}

func prefixOf(q url.Values) map[string]string {
	if !q.Has("prefix") {
		return nil
	}
	return map[string]string{"s3:prefix": q.Get("prefix")}
}

// machineAccess returns the accesses of ECS calls: registering a definition passes its roles.
func machineAccess(operation string, body []byte) ([]iam.Access, error) {
	var in struct {
		Cluster, Task, TaskDefinition, Family string
		Tasks                                 []string
		TaskRoleArn, ExecutionRoleArn         string
		Tags                                  []struct{ Key, Value string }
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, fmt.Errorf("read the call %s of ECS: %w", operation, err)
	}
	action := "ecs:" + operation
	cluster := in.Cluster
	if !strings.HasPrefix(cluster, "arn:") {
		cluster = arn("ecs", "cluster/"+cluster)
	}
	name := cluster[strings.LastIndexByte(cluster, '/')+1:]
	context := map[string]string{"ecs:cluster": cluster}
	switch operation {
	case "RunTask":
		definition := in.TaskDefinition
		if !strings.HasPrefix(definition, "arn:") {
			if !strings.Contains(definition, ":") {
				definition += ":1"
			}
			definition = arn("ecs", "task-definition/"+definition)
		}
		return []iam.Access{{Action: action, Resource: definition, Context: context}}, nil
	case "StopTask", "DescribeTasks":
		var list []iam.Access
		for _, task := range append(in.Tasks, in.Task) {
			if task == "" {
				continue
			}
			if !strings.HasPrefix(task, "arn:") {
				task = arn("ecs", "task/"+name+"/"+task)
			}
			list = append(list, iam.Access{Action: action, Resource: task, Context: context})
		}
		return list, nil
	case "ListTasks":
		return []iam.Access{{Action: action, Resource: arn("ecs", "container-instance/"+name+"/*"), Context: context}}, nil
	case "RegisterTaskDefinition":
		list := []iam.Access{{Action: action, Resource: arn("ecs", "task-definition/"+in.Family+":*")}}
		for _, role := range []string{in.TaskRoleArn, in.ExecutionRoleArn} {
			if role != "" {
				list = append(list, iam.Access{Action: "iam:PassRole", Resource: role, Context: map[string]string{"iam:PassedToService": "ecs-tasks.amazonaws.com"}})
			}
		}
		return list, nil
	case "DescribeTaskDefinition", "ListTaskDefinitions", "DeregisterTaskDefinition":
		return []iam.Access{{Action: action, Resource: "*"}}, nil
	}
	return nil, fmt.Errorf("the permissions for ecs %s are not listed", operation)
}
