// Package eventbridge is the AWS driver for host.Bus: it puts the progress and outcome of attempts on the deployment's
// event bus, where rules forward them.
//
// The functions that end attempts use it. It must never decide what is worth announcing. A setting selects the topics
// that are put on the bus, because each event costs money.
//
// # Costs
//
// Events cost $1.00 per million; each request carries one event.
package eventbridge

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"zerodag/events"
	"zerodag/internal/border"
	"zerodag/internal/host"
)

// Options are the settings of a Bus.
type Options struct {
	Name   string         // the bus's name
	Topics []events.Topic // topics that are announced
	Tries  int            // how many times a call that was throttled or got no response is tried; 0 means border.Tries
}

// Bus is a host.Bus.
type Bus struct {
	Options
	client *eventbridge.Client
}

// New returns a Bus for an existing event bus.
func New(c aws.Config, o Options) *Bus {
	return &Bus{o, eventbridge.NewFromConfig(border.Answered(c), func(x *eventbridge.Options) { x.Retryer = border.Retryer(o.Tries) })}
}

// Announce puts an event on the bus if its topic is selected. If EventBridge does not accept the event, it returns
// host.ErrUnavailable, because EventBridge may accept it later.
func (b *Bus) Announce(ctx context.Context, a events.Announcement) error {
	if !slices.Contains(b.Topics, a.Topic) {
		return nil
	}
	out, err := b.client.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: []types.PutEventsRequestEntry{{
		EventBusName: &b.Name, Source: aws.String(events.BusSource), DetailType: aws.String(string(a.Topic)),
		Detail: aws.String(string(a.Detail.Encode())), Time: &a.Time}}})
	if err != nil {
		return border.Translate("put event on bus "+b.Name, err)
	}
	if out.FailedEntryCount > 0 {
		x := out.Entries[0]
		return fmt.Errorf("put event on bus %s: %s: %s: %w", b.Name, aws.ToString(x.ErrorCode), aws.ToString(x.ErrorMessage), host.ErrUnavailable)
	}
	return nil
}
