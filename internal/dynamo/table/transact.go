package table

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"zerodag/internal/border"
	"zerodag/internal/host"
)

// Action is one part of a transaction.
type Action struct {
	Put    Item
	Update Key
	Delete Key
	Check  Key
	Change Where
	When   Where
}

func (t *Table) actionOf(a Action) types.TransactWriteItem {
	old := types.ReturnValuesOnConditionCheckFailureAllOld
	var condition *string
	if a.When.Text != "" {
		condition = &a.When.Text
	}
	names, values := nameMap(a.Change, a.When), valueMap(a.Change, a.When)
	switch {
	case a.Put != nil:
		return types.TransactWriteItem{Put: &types.Put{TableName: &t.name, Item: a.Put, ConditionExpression: condition,
			ExpressionAttributeNames: names, ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: old}}
	case a.Update != Key{}:
		return types.TransactWriteItem{Update: &types.Update{TableName: &t.name, Key: a.Update.Item(), UpdateExpression: &a.Change.Text, ConditionExpression: condition,
			ExpressionAttributeNames: names, ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: old}}
	case a.Delete != Key{}:
		return types.TransactWriteItem{Delete: &types.Delete{TableName: &t.name, Key: a.Delete.Item(), ConditionExpression: condition,
			ExpressionAttributeNames: names, ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: old}}
	}
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{TableName: &t.name, Key: a.Check.Item(), ConditionExpression: condition,
		ExpressionAttributeNames: names, ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: old}}
}

// Met is an action whose condition was not met, with the current item (nil: none).
type Met struct {
	At   int
	Item Item
}

// Transact does all actions or none. With ErrCondition it returns the conflicting items. A transaction that conflicts
// with a concurrent one is retried, because it has not changed anything.
func (t *Table) Transact(ctx context.Context, actions []Action) ([]Met, error) {
	var list []types.TransactWriteItem
	for _, a := range actions {
		list = append(list, t.actionOf(a))
	}
	for try := 0; ; try++ {
		_, err := t.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: list})
		var canceled *types.TransactionCanceledException
		if !errors.As(err, &canceled) {
			return nil, translate("write transaction", err)
		}
		var inTheWay []Met
		for i, r := range canceled.CancellationReasons {
			switch aws.ToString(r.Code) {
			case "ConditionalCheckFailed":
				inTheWay = append(inTheWay, Met{i, r.Item})
			case "ValidationError", "ItemCollectionSizeLimitExceeded", "AccessDenied":
				return nil, fmt.Errorf("write transaction: %s: %s", aws.ToString(r.Code), aws.ToString(r.Message))
			}
		}
		if len(inTheWay) > 0 {
			return inTheWay, ErrCondition
		}
		if err := Pause(ctx, try); err != nil {
			return nil, err
		}
	}
}

// tries limits how many times a transaction that conflicts with another call is tried.
const tries = 10

// Pause waits for a random time that grows with the number of failed tries.
func Pause(ctx context.Context, try int) error {
	if try >= tries {
		return fmt.Errorf("DynamoDB: giving up after %d attempts: %w", try, host.ErrUnavailable)
	}
	timer := time.NewTimer(border.Wait(try))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
