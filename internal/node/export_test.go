package node

import (
	"context"

	"zerodag/internal/catalogue"
	"zerodag/internal/host"
)

// DoEvent handles a delivery like the executor's loop.
func (n *Node) DoEvent(ctx context.Context, d host.Delivery) {
	n.worker.TakeEvents(ctx, n.events, []host.Delivery{d})
}

// DoTask handles a delivery like the agent's loop.
func (n *Node) DoTask(ctx context.Context, d host.Delivery) { n.worker.TakeTask(ctx, n.tasks, d) }

// FireOne fires a due schedule in the state in which it was read.
func (n *Node) FireOne(ctx context.Context, s host.Schedule) error {
	return n.Fire(ctx, catalogue.Names([]catalogue.Firing{{Schedule: s}}), false)
}
