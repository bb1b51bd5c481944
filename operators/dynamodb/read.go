package dynamodb

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"zerodag/engine/param"
	"zerodag/operators"
)

// Limits for the results of a query that become parameters of a workflow.
const (
	mostItems = 1000
	mostBytes = 256 << 10 // as JSON
)

func (r *request) get(ctx context.Context) (operators.Result, error) {
	key, err := r.item("get")
	if err != nil {
		return operators.Result{}, err
	}
	consistent, err := r.params.BoolOr("consistent", true)
	if err != nil {
		return operators.Result{}, err
	}
	out, err := r.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &r.table, Key: key, ConsistentRead: &consistent})
	if err != nil {
		return operators.Result{}, err
	}
	stored := param.New()
	if len(out.Item) > 0 {
		stored.Set("last_item", plain(out.Item))
	}
	return operators.Result{Store: param.New("dynamodb", stored), ResetStore: [][]string{{"dynamodb", "last_item"}}}, nil
}

func (r *request) query(ctx context.Context) (operators.Result, error) {
	in, limit, err := r.queryInput()
	if err != nil {
		return operators.Result{}, err
	}
	items, size := []param.Value{}, 0
	for {
		out, err := r.client.Query(ctx, in)
		if err != nil {
			return operators.Result{}, err
		}
		for _, item := range out.Items {
			if limit > 0 && int64(len(items)) == limit {
				return r.found(items), nil
			}
			m := plain(item)
			if size += len(param.Text(m)); len(items) == mostItems || size > mostBytes {
				return operators.Result{}, operators.Failf("dynamodb>: the query of table %s finds more than %d items or %d bytes: set 'limit', or narrow the query",
					r.table, mostItems, mostBytes)
			}
			items = append(items, m)
		}
		if len(out.LastEvaluatedKey) == 0 {
			return r.found(items), nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

func (r *request) queryInput() (*dynamodb.QueryInput, int64, error) {
	in := &dynamodb.QueryInput{TableName: &r.table, ExpressionAttributeNames: r.names, ExpressionAttributeValues: r.values}
	var err error
	if in.KeyConditionExpression, err = r.text("query"); err != nil {
		return nil, 0, err
	}
	if in.FilterExpression, err = r.text("filter"); err != nil {
		return nil, 0, err
	}
	if in.IndexName, err = r.text("index"); err != nil {
		return nil, 0, err
	}
	descending, err := r.params.BoolOr("descending", false)
	if err != nil {
		return nil, 0, err
	}
	in.ScanIndexForward = new(!descending)
	consistent, err := r.params.BoolOr("consistent", false)
	if err != nil {
		return nil, 0, err
	}
	in.ConsistentRead = &consistent
	limit, err := r.params.IntOr("limit", 0)
	if err == nil && (limit < 0 || limit > mostItems) {
		err = param.Errorf("'limit' is %d: it must be from 1 to %d", limit, mostItems)
	}
	if limit > 0 && in.FilterExpression == nil {
		in.Limit = new(int32(limit))
	}
	return in, limit, err
}

func (r *request) found(items []param.Value) operators.Result {
	stored := param.New("last_items", items, "last_count", int64(len(items)))
	return operators.Result{Store: param.New("dynamodb", stored), ResetStore: [][]string{{"dynamodb", "last_items"}, {"dynamodb", "last_count"}}}
}
