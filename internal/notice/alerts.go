package notice

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"zerodag/internal/host"
)

// Channels lists this process's channels, sorted by name, with the outcomes of their deliveries.
func (b *Outbox) Channels(ctx context.Context) ([]host.NoticeChannel, error) {
	outcomes, err := b.store.Deliveries(ctx)
	if err != nil {
		return nil, fmt.Errorf("read deliveries: %w", err)
	}
	var list []host.NoticeChannel
	for _, c := range b.o.Channels {
		x := host.NoticeChannel{Name: c.Name, Type: c.Type}
		if i := slices.IndexFunc(outcomes, func(d host.ChannelDelivery) bool { return d.Channel == c.Name }); i >= 0 {
			x.ChannelDelivery = outcomes[i]
		}
		list = append(list, x)
	}
	return list, nil
}

// Routes lists this process's routes, sorted by name.
func (b *Outbox) Routes() (list []host.NoticeRoute) {
	for _, r := range b.routes {
		list = append(list, host.NoticeRoute(r))
	}
	return list
}

// testKind is the kind of a notice that is sent as a test. No route selects it.
const testKind = "test"

// Test sends a notice now to the named channel or, if there is none, to all channels of the route with that name.
// Nothing is stored or retried. It returns host.ErrNotFound if there is neither.
func (b *Outbox) Test(ctx context.Context, name string) ([]host.NoticeTest, error) {
	names := []string{name}
	if b.lanes[name] == nil {
		r, is := b.route(name)
		if !is {
			return nil, host.ErrNotFound
		}
		names = r.Channels
	}
	list := make([]host.NoticeTest, len(names))
	var all sync.WaitGroup
	for i, channel := range names {
		all.Go(func() { list[i] = b.test(ctx, channel) })
	}
	all.Wait()
	return list, nil
}

func (b *Outbox) test(ctx context.Context, channel string) host.NoticeTest {
	ctx, stop := context.WithTimeout(ctx, tryTime)
	defer stop()
	t := host.NoticeTest{Channel: channel}
	fields := Fields(host.Notice{Kind: testKind, Message: "This is a test of the channel " + channel + ": notifications arrive"}, b.o.Now())
	err := host.Recover(b.o.Logger, "test of channel "+channel, func() (err error) {
		t.Answer, err = b.lanes[channel].channel.Sender.Send(ctx, fields)
		return err
	})
	if err != nil {
		t.Error = err.Error()
	}
	return t
}
