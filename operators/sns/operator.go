// Package sns implements `sns>`: it publishes a message to an Amazon SNS topic. Any agent may run it; it must never log
// the message.
package sns

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/aws"
)

// Operator returns `sns>`.
func Operator() operators.Operator {
	account := &aws.Account{}
	return operators.Operator{Name: "sns", Summary: "publishes a message to an SNS topic", Retries: true,
		Run: func(ctx context.Context, t *operators.Task) (operators.Result, error) { return run(ctx, account, t) }}
}

func run(ctx context.Context, account *aws.Account, t *operators.Task) (operators.Result, error) {
	p, err := aws.Params(t, "sns")
	if err != nil {
		return operators.Result{}, err
	}
	m, err := read(t, p)
	if err != nil {
		return operators.Result{}, err
	}
	c, err := account.Config(ctx, t, p, "sns")
	if err != nil {
		return operators.Result{}, err
	}
	c.Region = strings.Split(*m.TopicArn, ":")[3] // a topic exists only in its own region
	out, err := sns.NewFromConfig(c).Publish(ctx, m)
	if err != nil {
		return operators.Result{}, aws.Call{Operator: "sns", Doing: "publish to " + *m.TopicArn, Needs: "sns:Publish"}.Failure(ctx, err)
	}
	t.Log.Line(operators.Info, "SnsOperator", fmt.Sprintf("Published message %s to %s", *out.MessageId, *m.TopicArn))
	return operators.Result{}, nil
}

func read(t *operators.Task, p *operators.Params) (*sns.PublishInput, error) {
	topic, err := operators.Read(p, "_command", asTopic)
	if err != nil {
		return nil, err
	}
	message, err := operators.Read(p, "message", aws.AsMessage)
	if err != nil {
		return nil, err
	}
	subject, err := p.StringOr("subject", "")
	if err != nil {
		return nil, err
	}
	attributes, err := operators.ReadOr(p, "attributes", aws.AsAttributes, nil)
	if err != nil {
		return nil, err
	}
	order, err := aws.ReadOrder(t, p, topic)
	if err != nil {
		return nil, err
	}
	if message == "" {
		return nil, param.Errorf("'message' is empty: SNS rejects messages without text")
	}
	m := &sns.PublishInput{TopicArn: &topic, Message: &message, MessageAttributes: map[string]types.MessageAttributeValue{}}
	if subject != "" {
		m.Subject = &subject
	}
	for name, a := range attributes {
		m.MessageAttributes[name] = types.MessageAttributeValue{DataType: &a.Type, StringValue: &a.Text}
	}
	if order.Group != "" {
		m.MessageGroupId, m.MessageDeduplicationId = &order.Group, &order.ID
	}
	return m, nil
}

func asTopic(key string, v param.Value) (string, error) {
	topic, err := param.AsString(key, v)
	if err != nil {
		return "", err
	}
	if parts := strings.Split(topic, ":"); len(parts) != 6 || parts[0] != "arn" || parts[2] != "sns" || parts[3] == "" || parts[5] == "" {
		return "", param.Errorf("Illegal SNS topic: %s: write its ARN, arn:aws:sns:REGION:ACCOUNT:NAME", topic)
	}
	return topic, nil
}
