package localstack

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"zerodag/internal/env"
)

// Counter counts the calls of clients by operation, as a bill would: repeated ones too; and
// the units that DynamoDB says they consumed.
type Counter struct {
	mu     sync.Mutex
	calls  map[string]int
	reads  float64
	writes float64
}

// Count makes the clients of a configuration count their calls.
func Count(c *aws.Config) *Counter {
	n := &Counter{calls: map[string]int{}}
	c.APIOptions = append(c.APIOptions, func(s *middleware.Stack) error {
		if err := s.Initialize.Add(middleware.InitializeMiddlewareFunc("count units", n.measure), middleware.After); err != nil {
			return err
		}
		// Behind the retrier, so that each try is counted.
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

// measure asks DynamoDB what a call costs.
func (n *Counter) measure(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
	total := types.ReturnConsumedCapacityTotal
	switch x := in.Parameters.(type) {
	case *dynamodb.GetItemInput:
		x.ReturnConsumedCapacity = total
	case *dynamodb.BatchGetItemInput:
		x.ReturnConsumedCapacity = total
	case *dynamodb.QueryInput:
		x.ReturnConsumedCapacity = total
	case *dynamodb.PutItemInput:
		x.ReturnConsumedCapacity = total
	case *dynamodb.UpdateItemInput:
		x.ReturnConsumedCapacity = total
	case *dynamodb.DeleteItemInput:
		x.ReturnConsumedCapacity = total
	case *dynamodb.BatchWriteItemInput:
		x.ReturnConsumedCapacity = total
	}
	out, metadata, err := next.HandleInitialize(ctx, in)
	n.mu.Lock()
	defer n.mu.Unlock()
	one := func(units *float64, c *types.ConsumedCapacity) {
		if c != nil && c.CapacityUnits != nil {
			*units += *c.CapacityUnits
		}
	}
	all := func(units *float64, list []types.ConsumedCapacity) {
		for i := range list {
			one(units, &list[i])
		}
	}
	switch x := out.Result.(type) {
	case *dynamodb.GetItemOutput:
		one(&n.reads, x.ConsumedCapacity)
	case *dynamodb.BatchGetItemOutput:
		all(&n.reads, x.ConsumedCapacity)
	case *dynamodb.QueryOutput:
		one(&n.reads, x.ConsumedCapacity)
	case *dynamodb.PutItemOutput:
		one(&n.writes, x.ConsumedCapacity)
	case *dynamodb.UpdateItemOutput:
		one(&n.writes, x.ConsumedCapacity)
	case *dynamodb.DeleteItemOutput:
		one(&n.writes, x.ConsumedCapacity)
	case *dynamodb.BatchWriteItemOutput:
		all(&n.writes, x.ConsumedCapacity)
	case *dynamodb.TransactWriteItemsOutput:
		n.writes += transactionUnits(in.Parameters.(*dynamodb.TransactWriteItemsInput))
	}
	return out, metadata, err
}

// Action is a part of a transaction: the size in bytes of the item that it puts, and how
// many indexes the item is in; zero for one that puts nothing.
type Action struct{ Size, Indexes int }

// TransactionUnits is what AWS takes for a transaction: twice the units of each item, and
// those of its index entries, which are written once. DynamoDB Local says another number
// (4 for one small item). An update is taken for one unit, as small rows are.
func TransactionUnits(actions []Action) float64 {
	units := 0.0
	for _, a := range actions {
		units += 2*math.Ceil(max(float64(a.Size), 1)/1024) + float64(a.Indexes)
	}
	return units
}

func transactionUnits(in *dynamodb.TransactWriteItemsInput) float64 {
	var actions []Action
	for _, x := range in.TransactItems {
		var a Action
		if x.Put != nil {
			for name, v := range x.Put.Item {
				a.Size += len(name) + sizeOf(v)
			}
			for _, i := range env.Indexes() {
				if x.Put.Item[i.Partition] != nil {
					a.Indexes++
				}
			}
		}
		actions = append(actions, a)
	}
	return TransactionUnits(actions)
}

func sizeOf(v types.AttributeValue) int {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return len(v.Value)/2 + 2
	}
	return 1
}

// Units returns read and write units since the last call, and begins again.
func (n *Counter) Units() (reads, writes float64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	reads, writes = n.reads, n.writes
	n.reads, n.writes = 0, 0
	return reads, writes
}

// Take returns the calls since the last Take, "GetItem 1, Query 8", and begins again.
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
