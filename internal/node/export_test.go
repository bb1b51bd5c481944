package node

import (
	"context"

	"zerodag/internal/catalogue"
	"zerodag/internal/host"
)

// DoEvent does with a delivery what the executor's loop does.
func (n *Node) DoEvent(ctx context.Context, d host.Delivery) {
	n.worker.TakeEvents(ctx, n.events, []host.Delivery{d})
}

// DoTask does with a delivery what the agent's loop does.
func (n *Node) DoTask(ctx context.Context, d host.Delivery) { n.worker.TakeTask(ctx, n.tasks, d) }

// FireOne fires a schedule that is due, as it was when it was read.
func (n *Node) FireOne(ctx context.Context, s host.Schedule) error {
	return n.Fire(ctx, catalogue.Names([]catalogue.Firing{{Schedule: s}}), false)
}
