package sqs

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"zerodag/internal/border"
	"zerodag/internal/host"
)

// Limits on a batch. SQS bills a batch per 64 KB, so batches larger than 256 KB gain little.
const (
	maxBatch      = 10
	maxBatchBytes = 256 << 10
	maxMessage    = 1 << 20
	maxDelay      = 15 * time.Minute
	maxID         = 128 // the maximum number of bytes of a group and of a deduplication id
)

// Attributes of a message. SQS accepts neither an empty body nor every character.
const (
	attrID       = "id"
	attrGroup    = "group"
	attrShare    = "share"
	attrDue      = "due"      // microseconds since 1970
	attrEncoding = "encoding" // "base64"; without it, the body is unencoded
	base64Coded  = "base64"
)

// Send adds messages. It first stores messages that are due too late for SQS, so that none of the others is received
// before these are safe.
func (q *Queue) Send(ctx context.Context, messages ...host.Message) error {
	var now, later []host.Message
	for _, m := range messages {
		wait := m.Due.Sub(q.Now())
		if wait > maxDelay || q.FIFO && wait > 0 {
			later = append(later, m)
		} else {
			now = append(now, m)
		}
	}
	if len(later) > 0 {
		if q.Later == nil {
			return fmt.Errorf("send to %s: message %s is due at %v, but SQS delays by at most %v", q.Name, later[0].ID, later[0].Due, maxDelay)
		}
		if err := q.Later.Later(ctx, q.Name, later...); err != nil {
			return err
		}
	}
	var batch []types.SendMessageBatchRequestEntry
	size := 0
	for _, m := range now {
		e, bytes := q.entry(m)
		if bytes > maxMessage {
			return fmt.Errorf("send to %s: message %s has %d bytes, but SQS accepts at most %d", q.Name, m.ID, bytes, maxMessage)
		}
		if len(batch) == maxBatch || size+bytes > maxBatchBytes && len(batch) > 0 {
			if err := q.sendBatch(ctx, batch); err != nil {
				return err
			}
			batch, size = nil, 0
		}
		e.Id = aws.String(strconv.Itoa(len(batch)))
		batch, size = append(batch, e), size+bytes
	}
	if len(batch) == 0 {
		return nil
	}
	return q.sendBatch(ctx, batch)
}

// tries limits how many times messages are sent that SQS did not accept although the call succeeded.
const tries = 6

// sendBatch sends until SQS has accepted all messages.
func (q *Queue) sendBatch(ctx context.Context, batch []types.SendMessageBatchRequestEntry) error {
	for try := 0; ; try++ {
		out, err := q.client.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: &q.URL, Entries: batch})
		if err != nil {
			return border.Translate("send to "+q.Name, err)
		}
		if len(out.Failed) == 0 {
			return nil
		}
		var left []types.SendMessageBatchRequestEntry
		for _, f := range out.Failed {
			if f.SenderFault {
				return fmt.Errorf("send to %s: %s: %s", q.Name, aws.ToString(f.Code), aws.ToString(f.Message))
			}
			for _, e := range batch {
				if *e.Id == *f.Id {
					left = append(left, e)
				}
			}
		}
		batch = left
		if try == tries {
			return fmt.Errorf("send to %s: %s: %w", q.Name, aws.ToString(out.Failed[0].Code), host.ErrUnavailable)
		}
		timer := time.NewTimer(border.Wait(try))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("send to %s: %w", q.Name, ctx.Err())
		}
	}
}

// entry returns a message in the form that SQS accepts, and its size.
func (q *Queue) entry(m host.Message) (types.SendMessageBatchRequestEntry, int) {
	body, attributes := encode(m)
	e := types.SendMessageBatchRequestEntry{MessageBody: &body, MessageAttributes: map[string]types.MessageAttributeValue{}}
	size := len(body)
	for name, value := range attributes {
		e.MessageAttributes[name] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String(value)}
		size += len(name) + len("String") + len(value)
	}
	if group := cmp.Or(m.Group, m.Share); group != "" {
		e.MessageGroupId = aws.String(plainID(group))
	}
	if q.FIFO {
		e.MessageDeduplicationId = aws.String(plainID(m.ID))
		if m.Group == "" {
			e.MessageGroupId = e.MessageDeduplicationId // a separate group
		}
	} else if wait := m.Due.Sub(q.Now()); wait > 0 {
		e.DelaySeconds = seconds(wait, maxDelay)
	}
	return e, size
}

// plainID returns an ID that SQS accepts, of up to 128 letters, digits and punctuation; other IDs are hashed.
func plainID(id string) string {
	fits := len(id) <= maxID
	for i := range len(id) {
		fits = fits && id[i] > ' ' && id[i] < 0x7f
	}
	if fits {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}

func encode(m host.Message) (string, map[string]string) {
	attributes := map[string]string{attrID: m.ID}
	if m.Group != "" {
		attributes[attrGroup] = m.Group
	}
	if m.Share != "" {
		attributes[attrShare] = m.Share
	}
	if !m.Due.IsZero() {
		attributes[attrDue] = strconv.FormatInt(m.Due.UnixMicro(), 10)
	}
	if taken(m.Body) {
		return string(m.Body), attributes
	}
	attributes[attrEncoding] = base64Coded
	if len(m.Body) == 0 {
		return "=", attributes
	}
	return base64.StdEncoding.EncodeToString(m.Body), attributes
}

// taken reports whether SQS accepts a body unchanged, because it contains only XML 1.0 characters.
func taken(body []byte) bool {
	for rest := body; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		switch {
		case r == utf8.RuneError && n == 1, r == 0xfffe, r == 0xffff:
			return false
		case r < ' ' && r != '\t' && r != '\n' && r != '\r':
			return false
		}
		rest = rest[n:]
	}
	return len(body) > 0
}

func decode(body string, attributes map[string]string) (host.Message, error) {
	m := host.Message{ID: attributes[attrID], Group: attributes[attrGroup], Share: attributes[attrShare], Body: []byte(body)}
	if micros, err := strconv.ParseInt(attributes[attrDue], 10, 64); err == nil {
		m.Due = time.UnixMicro(micros).UTC()
	}
	switch code := attributes[attrEncoding]; {
	case m.ID == "":
		return m, fmt.Errorf("it has no attribute %q: zerodag did not send it", attrID)
	case code == "":
		return m, nil
	case code != base64Coded:
		return m, fmt.Errorf("its encoding %q is unknown to this release", code)
	case body == "=":
		m.Body = nil
		return m, nil
	}
	var err error
	m.Body, err = base64.StdEncoding.DecodeString(body)
	return m, err
}
