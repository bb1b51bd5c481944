package dynamodb

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/aws"
)

func (r *request) put(ctx context.Context) (operators.Result, error) {
	item, err := r.item("put")
	if err != nil {
		return operators.Result{}, err
	}
	if r.condition == nil {
		_, err = r.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &r.table, Item: item})
		return operators.Result{}, err
	}
	return operators.Result{}, r.once(ctx, types.TransactWriteItem{Put: &types.Put{TableName: &r.table, Item: item,
		ConditionExpression: r.condition, ExpressionAttributeNames: r.names, ExpressionAttributeValues: r.values}})
}

func (r *request) delete(ctx context.Context) (operators.Result, error) {
	key, err := r.item("delete")
	if err != nil {
		return operators.Result{}, err
	}
	if r.condition == nil {
		_, err = r.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &r.table, Key: key})
		return operators.Result{}, err
	}
	return operators.Result{}, r.once(ctx, types.TransactWriteItem{Delete: &types.Delete{TableName: &r.table, Key: key,
		ConditionExpression: r.condition, ExpressionAttributeNames: r.names, ExpressionAttributeValues: r.values}})
}

func (r *request) update(ctx context.Context) (operators.Result, error) {
	key, err := r.item("update")
	if err != nil {
		return operators.Result{}, err
	}
	expression, err := r.params.String("expression")
	if err != nil {
		return operators.Result{}, err
	}
	return operators.Result{}, r.once(ctx, types.TransactWriteItem{Update: &types.Update{TableName: &r.table, Key: key, UpdateExpression: &expression,
		ConditionExpression: r.condition, ExpressionAttributeNames: r.names, ExpressionAttributeValues: r.values}})
}

// once writes with a token for this try of the task, which DynamoDB remembers for ten minutes: a counter is not
// incremented twice, and a condition is not checked against the task's own write.
func (r *request) once(ctx context.Context, w types.TransactWriteItem) error {
	token := aws.Name(r.task)
	_, err := r.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{w}, ClientRequestToken: &token})
	var other *types.IdempotentParameterMismatchException
	if errors.As(err, &other) {
		r.task.Log.Line(operators.Info, "DynamodbOperator", "An earlier run of this task has already written to "+r.table)
		return nil
	}
	var canceled *types.TransactionCanceledException
	if errors.As(err, &canceled) && len(canceled.CancellationReasons) == 1 {
		return r.refused(canceled.CancellationReasons[0], err)
	}
	return err
}

func (r *request) refused(reason types.CancellationReason, err error) error {
	switch {
	case reason.Code == nil:
	case *reason.Code == "ConditionalCheckFailed" && r.condition != nil:
		return operators.Failf("dynamodb>: can't %s in table %s: the item does not meet the condition: %s", r.action, r.table, *r.condition)
	case *reason.Code == "ValidationError" && reason.Message != nil:
		return param.Errorf("dynamodb>: can't %s in table %s: %s", r.action, r.table, *reason.Message)
	}
	return err
}
