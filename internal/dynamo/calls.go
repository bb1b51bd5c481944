package dynamo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"zerodag/internal/border"
	"zerodag/internal/host"
)

// What DynamoDB takes at once.
const (
	maxBatchGet   = 100
	maxBatchWrite = 25
	maxActions    = 100
)

// get reads an item, consistently; nil when there is none.
func (db *DB) get(ctx context.Context, k key) (item, error) {
	out, err := db.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &db.table, Key: k.item(), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return nil, translate("read "+k.partition, err)
	}
	return out.Item, nil
}

// getAll reads items, consistently and up to eight batches side by side; those that are not there are
// not in the answer.
func (db *DB) getAll(ctx context.Context, keys []key) (map[key]item, error) {
	parts := slices.Collect(slices.Chunk(unique(keys), maxBatchGet))
	found, errs := make([][]item, len(parts)), make([]error, len(parts))
	var all sync.WaitGroup
	slots := make(chan struct{}, batchesAtOnce)
	for i, part := range parts {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			found[i], errs[i] = db.getPart(ctx, part)
		})
	}
	all.Wait()
	rows := map[key]item{}
	for i := range parts {
		if errs[i] != nil {
			return nil, errs[i]
		}
		for _, it := range found[i] {
			rows[keyOf(it)] = it
		}
	}
	return rows, nil
}

// getPart reads what one call can ask for, until all of it is answered.
func (db *DB) getPart(ctx context.Context, keys []key) (found []item, err error) {
	var ask []map[string]types.AttributeValue
	for _, k := range keys {
		ask = append(ask, k.item())
	}
	for try := 0; len(ask) > 0; try++ {
		out, err := db.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
			db.table: {Keys: ask, ConsistentRead: aws.Bool(true)}}})
		if err != nil {
			return nil, translate("read items", err)
		}
		for _, it := range out.Responses[db.table] {
			found = append(found, it)
		}
		left := out.UnprocessedKeys[db.table].Keys
		if len(left) == len(ask) { // not even one: DynamoDB is throttling
			if err := pause(ctx, try); err != nil {
				return nil, err
			}
		}
		ask = left
	}
	return found, nil
}

func unique(keys []key) []key {
	seen := map[key]bool{}
	return slices.DeleteFunc(slices.Clone(keys), func(k key) bool {
		was := seen[k]
		seen[k] = true
		return was
	})
}

// putAll writes items, in no order and not together. Repeated it changes nothing.
func (db *DB) putAll(ctx context.Context, items []item) error {
	ask := make([]types.WriteRequest, len(items))
	for i, it := range items {
		ask[i].PutRequest = &types.PutRequest{Item: it}
	}
	return db.writeAll(ctx, ask)
}

// deleteAll is putAll for items that are to go.
func (db *DB) deleteAll(ctx context.Context, keys []key) error {
	ask := make([]types.WriteRequest, len(keys))
	for i, k := range keys {
		ask[i].DeleteRequest = &types.DeleteRequest{Key: k.item()}
	}
	return db.writeAll(ctx, ask)
}

func (db *DB) writeAll(ctx context.Context, ask []types.WriteRequest) error {
	for part := range slices.Chunk(ask, maxBatchWrite) {
		if err := db.writePart(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// writePart writes what one call can take, until all of it is taken.
func (db *DB) writePart(ctx context.Context, ask []types.WriteRequest) error {
	for try := 0; len(ask) > 0; try++ {
		out, err := db.client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{db.table: ask}})
		if err != nil {
			return translate("write items", err)
		}
		left := out.UnprocessedItems[db.table]
		if len(left) > 0 {
			if err := pause(ctx, try); err != nil {
				return err
			}
		}
		ask = left
	}
	return nil
}

// where is a condition or an update with what it names: "#name" and ":value".
type where struct {
	text   string
	names  []string
	values item
}

// nameMap maps "#name" to name: all names are written so, since many are reserved words.
func nameMap(parts ...where) map[string]string {
	m := map[string]string{}
	for _, w := range parts {
		for _, n := range w.names {
			m["#"+n] = n
		}
	}
	if len(m) == 0 {
		return nil
	}
	return m
}

func valueMap(parts ...where) item {
	m := item{}
	for _, w := range parts {
		maps.Copy(m, w.values)
	}
	if len(m) == 0 {
		return nil
	}
	return m
}

// query asks the table, or an index of it, for a range of sort keys.
type query struct {
	index      string // "" is the table, read consistently
	where      where
	descending bool
	limit      int // 0 is all
	names      []string
	count      bool
	stale      bool // the table may be read as it was a second ago, for half the price
}

// input is the first page of a query.
func (db *DB) input(q query) *dynamodb.QueryInput {
	in := &dynamodb.QueryInput{TableName: &db.table, KeyConditionExpression: &q.where.text, ScanIndexForward: aws.Bool(!q.descending),
		ExpressionAttributeNames: nameMap(q.where, where{names: q.names}), ExpressionAttributeValues: q.where.values}
	if q.index != "" {
		in.IndexName = &q.index
	} else {
		in.ConsistentRead = aws.Bool(!q.stale)
	}
	if q.count {
		in.Select = types.SelectCount
	}
	if len(q.names) > 0 {
		in.ProjectionExpression = aws.String("#" + strings.Join(q.names, ", #"))
	}
	return in
}

// run returns what was found, page by page, up to the limit.
func (db *DB) run(ctx context.Context, q query) (list []item, count int, err error) {
	in := db.input(q)
	for {
		if q.limit > 0 {
			in.Limit = aws.Int32(int32(q.limit - count))
		}
		out, err := db.client.Query(ctx, in)
		if err != nil {
			return nil, 0, translate("query", err)
		}
		for _, it := range out.Items {
			list = append(list, it)
		}
		count += int(out.Count)
		if out.LastEvaluatedKey == nil || q.limit > 0 && count >= q.limit {
			return list, count, nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

func (db *DB) find(ctx context.Context, q query) ([]item, error) {
	list, _, err := db.run(ctx, q)
	return list, err
}

// put writes an item under a condition. With errCondition comes the item that is there.
func (db *DB) put(ctx context.Context, it item, w where) (item, error) {
	in := &dynamodb.PutItemInput{TableName: &db.table, Item: it, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld}
	if w.text != "" {
		in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues = &w.text, nameMap(w), w.values
	}
	_, err := db.client.PutItem(ctx, in)
	return refused("write "+it.str(aPartition), err)
}

// update changes an item under a condition. With errCondition comes the item as it is.
func (db *DB) update(ctx context.Context, k key, change, w where) (item, error) {
	_, err := db.client.UpdateItem(ctx, db.updateInput(k, change, w))
	return refused("update "+k.partition, err)
}

// updated is update, and returns the item as it is then.
func (db *DB) updated(ctx context.Context, k key, change, w where) (item, error) {
	in := db.updateInput(k, change, w)
	in.ReturnValues = types.ReturnValueAllNew
	out, err := db.client.UpdateItem(ctx, in)
	if err != nil {
		return refused("update "+k.partition, err)
	}
	return out.Attributes, nil
}

func (db *DB) updateInput(k key, change, w where) *dynamodb.UpdateItemInput {
	in := &dynamodb.UpdateItemInput{TableName: &db.table, Key: k.item(), UpdateExpression: &change.text,
		ExpressionAttributeNames: nameMap(change, w), ExpressionAttributeValues: valueMap(change, w),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld}
	if w.text != "" {
		in.ConditionExpression = &w.text
	}
	return in
}

// remove deletes an item under a condition.
func (db *DB) remove(ctx context.Context, k key, w where) error {
	in := &dynamodb.DeleteItemInput{TableName: &db.table, Key: k.item()}
	if w.text != "" {
		in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues = &w.text, nameMap(w), valueMap(w)
	}
	_, err := db.client.DeleteItem(ctx, in)
	_, err = refused("delete "+k.partition, err)
	return err
}

func refused(doing string, err error) (item, error) {
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		return failed.Item, errCondition
	}
	return nil, translate(doing, err)
}

// action is one part of a transaction.
type action struct {
	put    item
	update key
	delete key
	check  key
	change where
	when   where
}

func (db *DB) actionOf(a action) types.TransactWriteItem {
	old := types.ReturnValuesOnConditionCheckFailureAllOld
	var condition *string
	if a.when.text != "" {
		condition = &a.when.text
	}
	names, values := nameMap(a.change, a.when), valueMap(a.change, a.when)
	switch {
	case a.put != nil:
		return types.TransactWriteItem{Put: &types.Put{TableName: &db.table, Item: a.put, ConditionExpression: condition,
			ExpressionAttributeNames: names, ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: old}}
	case a.update != key{}:
		return types.TransactWriteItem{Update: &types.Update{TableName: &db.table, Key: a.update.item(), UpdateExpression: &a.change.text, ConditionExpression: condition,
			ExpressionAttributeNames: names, ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: old}}
	case a.delete != key{}:
		return types.TransactWriteItem{Delete: &types.Delete{TableName: &db.table, Key: a.delete.item(), ConditionExpression: condition,
			ExpressionAttributeNames: names, ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: old}}
	}
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{TableName: &db.table, Key: a.check.item(), ConditionExpression: condition,
		ExpressionAttributeNames: names, ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: old}}
}

// met is an action whose condition was not met, with the item as it is (nil: none).
type met struct {
	at   int
	item item
}

// transact does all actions or none. With errCondition comes what was in the way. A
// transaction that met another one is repeated: neither has done anything.
func (db *DB) transact(ctx context.Context, actions []action) ([]met, error) {
	var list []types.TransactWriteItem
	for _, a := range actions {
		list = append(list, db.actionOf(a))
	}
	for try := 0; ; try++ {
		_, err := db.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: list})
		var canceled *types.TransactionCanceledException
		if !errors.As(err, &canceled) {
			return nil, translate("write transaction", err)
		}
		var inTheWay []met
		for i, r := range canceled.CancellationReasons {
			switch aws.ToString(r.Code) {
			case "ConditionalCheckFailed":
				inTheWay = append(inTheWay, met{i, r.Item})
			case "ValidationError", "ItemCollectionSizeLimitExceeded", "AccessDenied":
				return nil, fmt.Errorf("write transaction: %s: %s", aws.ToString(r.Code), aws.ToString(r.Message))
			}
		}
		if len(inTheWay) > 0 {
			return inTheWay, errCondition
		}
		if err := pause(ctx, try); err != nil {
			return nil, err
		}
	}
}

// tries of what another call was in the way of.
const tries = 10

// pause waits a random time, the longer the more often it was in vain.
func pause(ctx context.Context, try int) error {
	if try >= tries {
		return fmt.Errorf("DynamoDB: in vain %d times: %w", try, host.ErrUnavailable)
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

// Conditions that many use.
func absent() where { return where{text: "attribute_not_exists(#p)", names: []string{aPartition}} }
func exists() where { return where{text: "attribute_exists(#p)", names: []string{aPartition}} }
