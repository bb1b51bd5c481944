package attempts

import (
	"strconv"

	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

// importAttempts adds attempts that ended on another server.
func importAttempts(c *endpoint.Call) (any, error) {
	var b wire.ImportAttemptsBody
	c.MostBody = wire.MostImport
	if err := c.Read(&b, false); err != nil {
		return nil, err
	}
	list, err := b.List()
	if err != nil {
		return nil, err
	}
	c.Target = strconv.Itoa(len(list)) + " attempts"
	done, err := c.Node.ImportAttempts(c.Ctx(), c.Actor.Site, list, b.DryRun.Yes)
	if err != nil {
		return nil, err
	}
	return wire.ImportedAttemptsOf(done), nil
}
