package main

import (
	"context"
	"fmt"

	"zerodag/internal/prices"
)

// idle prints the cost of a deployment in which nothing happens: pollers as AWS runs them, and a measured tick each
// minute.
func (b *bench) idle(ctx context.Context) error {
	const ticks = 3
	u, err := b.measure(ctx, func() error {
		for range ticks {
			if err := b.Tick(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	tick := u.functions["tick"]
	times := float64(prices.MinutesPerMonth) / float64(max(tick.times, 1)) // calls by EventBridge may be among them
	polls := float64(prices.IdlePollers * prices.PollsPerMonth)
	lambda := times * (float64(tick.times)*prices.LambdaRequest + tick.took.Seconds()*float64(tick.memory)/1024*prices.LambdaGBSecond)
	rows := times * (u.Reads*prices.ReadUnit + u.Writes*prices.WriteUnit)
	queues := polls*(prices.StandardRequest+prices.FIFORequest) + times*(float64(u.Messages)*prices.StandardRequest+float64(u.Ordered)*prices.FIFORequest)
	logged := times * float64(tick.logged) / (1 << 30) * prices.LogGB
	fmt.Printf("\nidle, a month without the free tier and alarms (a tick: %s; %.1f read units, %d ms at %d MB)\n",
		calls(u.Bill), u.Reads/float64(max(tick.times, 1)), tick.took.Milliseconds()/int64(max(tick.times, 1)), tick.memory)
	w := table("what", "requests", "$ a month")
	row(w, "pollers of two queues", fmt.Sprintf("%.0f", 2*polls), fmt.Sprintf("%.3f", queues))
	row(w, "tick, Lambda", fmt.Sprint(prices.MinutesPerMonth), fmt.Sprintf("%.3f", lambda))
	row(w, "tick, DynamoDB", fmt.Sprintf("%.0f", times*float64(u.Of("dynamodb"))), fmt.Sprintf("%.3f", rows))
	row(w, "tick, log", "", fmt.Sprintf("%.3f", logged))
	row(w, "all", "", against(queues+lambda+rows+logged, 1, "%.2f"))
	return w.Flush()
}
