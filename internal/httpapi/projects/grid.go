package projects

import (
	"zerodag/internal/console"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

func getGrid(c *endpoint.Call) (any, error) {
	n, err := c.ID("id")
	if err != nil {
		return nil, err
	}
	q := console.GridQuery{Site: c.Actor.Site, Parent: c.Text("parent")}
	if q.Before, err = c.Number("before", 0); err != nil {
		return nil, err
	}
	if q.Columns, err = c.Counting("columns", 30, 60); err != nil {
		return nil, err
	}
	if q.Rows, err = c.Counting("rows", 200, 500); err != nil {
		return nil, err
	}
	w, err := c.Node.Workflow(c.Ctx(), q.Site, n)
	if err != nil {
		return nil, wire.OrMissing(err, "workflow id=%d", n)
	}
	q.Project, q.Workflow = w.Project.ID, w.Name
	g, err := c.Console.Grid(c.Ctx(), q)
	if err != nil {
		return nil, err
	}
	return wire.Grid{Columns: wire.Each(g.Columns, wire.LastBriefly), Rows: wire.Each(g.Rows, wire.GridRow), More: g.More, Next: wire.OrNull(g.Next)}, nil
}
