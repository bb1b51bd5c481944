package engine

import "zerodag/engine/dig"

// Portion is how many of the tasks in an operator's result one step creates, which limits the size of log entries and
// steps. The next GoOn creates the next portion.
const Portion = 200

// addPortion creates the first tasks of an operator's result and returns the id of the group or task that holds them
// all.
func (d *decision) addPortion(t *Task, nodes []dig.Node) TaskID {
	first := TaskID(len(d.tasks) + 1)
	end := portionEnd(nodes, 0)
	d.apply(TasksAdded{Parent: t.ID, First: first, Nodes: nodes[:end], Initial: true, At: d.now})
	if end < len(nodes) {
		d.apply(Growing{growth{Owner: t.ID, First: first, Total: len(nodes), Next: end, Guard: d.guard, nodes: nodes}})
	}
	d.look = append(d.look, t.ID)
	d.lookAtResumed(first)
	return first
}

// portionEnd cuts only between children of node 0: a subtree is created whole, so that no group can end before its
// children exist.
func portionEnd(nodes []dig.Node, from int) int {
	for i := from + Portion; i < len(nodes); i++ {
		if nodes[i].Parent == 0 {
			return i
		}
	}
	return len(nodes)
}

// goOn creates the next portion for everything that grows.
func (d *decision) goOn() {
	for _, g := range append([]growth(nil), d.growing...) {
		nodes := g.nodes
		if nodes == nil {
			var err error
			if nodes, err = d.nodesFor(g); err != nil || len(nodes) != g.Total {
				nodes = nil // a different version compiles it differently: keep what exists
			}
		}
		end, from, holder := g.Total, g.Next, d.task(g.First)
		had := len(holder.children)
		if nodes != nil {
			end = portionEnd(nodes, g.Next)
			d.apply(TasksAdded{Parent: g.Owner, First: g.First, From: g.Next, Nodes: nodes[g.Next:end], Initial: true, At: d.now})
		}
		g.Next, g.Guard, g.nodes = end, d.guard, nodes
		d.apply(Growing{g})
		if holder.opensChildren() {
			d.unblock(holder.children[had:])
		}
		d.lookAtResumed(g.First + TaskID(from))
		if holder.State == Planned && holder.active == 0 {
			d.childrenDone(holder)
		}
	}
}
