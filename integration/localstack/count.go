package localstack

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
)

// Counter counts clients' calls by operation, including retries, as a bill would. The proxy counts their cost.
type Counter struct {
	mu    sync.Mutex
	calls map[string]int
}

// Count makes the clients of a configuration count their calls.
func Count(c *aws.Config) *Counter {
	n := &Counter{calls: map[string]int{}}
	c.APIOptions = append(c.APIOptions, func(s *middleware.Stack) error {
		// After the retrier, so that each retry is counted.
		return s.Finalize.Add(middleware.FinalizeMiddlewareFunc("count calls", n.handle), middleware.After)
	})
	return n
}

func (n *Counter) handle(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
	n.mu.Lock()
	n.calls[awsmiddleware.GetOperationName(ctx)]++
	n.mu.Unlock()
	return next.HandleFinalize(ctx, in)
}

// Take returns the calls since the last Take, such as "GetItem 1, Query 8", and resets the count.
func (n *Counter) Take() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var list []string
	for name, calls := range n.calls {
		list = append(list, fmt.Sprint(name, " ", calls))
	}
	n.calls = map[string]int{}
	slices.Sort(list)
	return strings.Join(list, ", ")
}
