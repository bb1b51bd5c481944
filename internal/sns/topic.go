// Package sns sends notices on AWS: it publishes them to the deployment's topic, which forwards them to mail, chat or
// pagers.
//
// The functions that run the engine use it, below package notice. It must never hold a secret: a notice contains only
// names and times.
//
// # Costs
//
// Notices cost $0.50 per million, plus the cost of their subscribers.
package sns

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"

	"zerodag/engine/param"
	"zerodag/internal/border"
)

// Options holds the settings of a Topic.
type Options struct {
	ARN   string
	Stage string // names the deployment to users; "": none
	Tries int    // how many times a call that was throttled or got no response is tried: border.Tries
}

// Topic is a notice.Sender.
type Topic struct {
	Options
	// publish is the only operation that is linked: a field with the whole client would link all of them.
	publish func(context.Context, *sns.PublishInput, ...func(*sns.Options)) (*sns.PublishOutput, error)
}

// New returns a Topic for an existing topic.
func New(c aws.Config, o Options) *Topic {
	return &Topic{o, sns.NewFromConfig(border.Answered(c), func(x *sns.Options) { x.Retryer = border.Retryer(o.Tries) }).Publish}
}

// maxSubject is the length of the longest subject that SNS accepts: fewer than 100 ASCII characters.
const maxSubject = 99

// Send publishes a notice: a subject for people to read, its fields as JSON, and attributes by which subscribers may
// filter.
func (t *Topic) Send(ctx context.Context, fields *param.Map) (string, error) {
	attributes := map[string]types.MessageAttributeValue{}
	for _, name := range []string{"kind", "project_name", "workflow_name", "task_name"} {
		if v, ok := fields.Get(name); ok && v != nil { // SNS accepts no empty value
			attributes[name] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String(fmt.Sprint(v))}
		}
	}
	out, err := t.publish(ctx, &sns.PublishInput{TopicArn: &t.ARN, Subject: aws.String(t.subject(fields)),
		Message: aws.String(string(param.AppendJSON(nil, fields))), MessageAttributes: attributes})
	if err != nil {
		return "", border.Translate("publish notice to "+t.ARN, err)
	}
	return "published as " + aws.ToString(out.MessageId), nil
}

func (t *Topic) subject(fields *param.Map) string {
	s := strings.TrimSpace("zerodag "+t.Stage) + ":"
	for _, name := range []string{"message", "project_name", "workflow_name"} {
		if v, ok := fields.Get(name); ok && v != nil {
			s += fmt.Sprint(" ", v)
		}
	}
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r >= utf8.RuneSelf {
			return '?'
		}
		return r
	}, s)
	return s[:min(len(s), maxSubject)]
}
