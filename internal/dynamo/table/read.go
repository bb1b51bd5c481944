package table

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// DynamoDB's limits for one call.
const (
	maxBatchGet   = 100
	maxBatchWrite = 25
	MaxActions    = 100
)

// Get reads an item consistently; nil if there is none.
func (t *Table) Get(ctx context.Context, k Key) (Item, error) {
	out, err := t.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &t.name, Key: k.Item(), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return nil, translate("read "+k.Partition, err)
	}
	return out.Item, nil
}

// GetAll reads items consistently, up to eight batches concurrently; missing items are not in the response.
func (t *Table) GetAll(ctx context.Context, keys []Key) (map[Key]Item, error) {
	parts := slices.Collect(slices.Chunk(unique(keys), maxBatchGet))
	found, errs := make([][]Item, len(parts)), make([]error, len(parts))
	var all sync.WaitGroup
	slots := make(chan struct{}, batchesAtOnce)
	for i, part := range parts {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			found[i], errs[i] = t.getPart(ctx, part)
		})
	}
	all.Wait()
	rows := map[Key]Item{}
	for i := range parts {
		if errs[i] != nil {
			return nil, errs[i]
		}
		for _, it := range found[i] {
			rows[KeyOf(it)] = it
		}
	}
	return rows, nil
}

// getPart reads the items of one call, and repeats the call until all of them have been returned.
func (t *Table) getPart(ctx context.Context, keys []Key) (found []Item, err error) {
	var ask []map[string]types.AttributeValue
	for _, k := range keys {
		ask = append(ask, k.Item())
	}
	for try := 0; len(ask) > 0; try++ {
		out, err := t.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
			t.name: {Keys: ask, ConsistentRead: aws.Bool(true)}}})
		if err != nil {
			return nil, translate("read items", err)
		}
		for _, it := range out.Responses[t.name] {
			found = append(found, it)
		}
		left := out.UnprocessedKeys[t.name].Keys
		if len(left) == len(ask) { // not even one: DynamoDB is throttling
			if err := Pause(ctx, try); err != nil {
				return nil, err
			}
		}
		ask = left
	}
	return found, nil
}

func unique(keys []Key) []Key {
	seen := map[Key]bool{}
	return slices.DeleteFunc(slices.Clone(keys), func(k Key) bool {
		was := seen[k]
		seen[k] = true
		return was
	})
}

// Query queries the table, or an index of it, for a range of sort keys.
type Query struct {
	Index      string // "" means the table, which is read consistently
	Where      Where
	Descending bool
	Limit      int // 0 means all
	Names      []string
	Count      bool
	Stale      bool // the data may be a second old, at half the price
}

// input returns the input for the first page of a query.
func (t *Table) input(q Query) *dynamodb.QueryInput {
	in := &dynamodb.QueryInput{TableName: &t.name, KeyConditionExpression: &q.Where.Text, ScanIndexForward: aws.Bool(!q.Descending),
		ExpressionAttributeNames: nameMap(q.Where, Where{Names: q.Names}), ExpressionAttributeValues: q.Where.Values}
	if q.Index != "" {
		in.IndexName = &q.Index
	} else {
		in.ConsistentRead = aws.Bool(!q.Stale)
	}
	if q.Count {
		in.Select = types.SelectCount
	}
	if len(q.Names) > 0 {
		in.ProjectionExpression = aws.String("#" + strings.Join(q.Names, ", #"))
	}
	return in
}

// Run returns the found items, page by page, up to the limit.
func (t *Table) Run(ctx context.Context, q Query) (list []Item, count int, err error) {
	in := t.input(q)
	for {
		if q.Limit > 0 {
			in.Limit = aws.Int32(int32(q.Limit - count))
		}
		out, err := t.client.Query(ctx, in)
		if err != nil {
			return nil, 0, translate("query", err)
		}
		for _, it := range out.Items {
			list = append(list, it)
		}
		count += int(out.Count)
		if out.LastEvaluatedKey == nil || q.Limit > 0 && count >= q.Limit {
			return list, count, nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

// Pages passes a query's results to do, in pages of at most size items, until do has enough.
func (t *Table) Pages(ctx context.Context, q Query, size int, do func([]Item) (enough bool, err error)) error {
	in := t.input(q)
	in.Limit = aws.Int32(int32(size))
	for {
		out, err := t.client.Query(ctx, in)
		if err != nil {
			return translate("query", err)
		}
		items := make([]Item, len(out.Items))
		for i, it := range out.Items {
			items[i] = it
		}
		if enough, err := do(items); enough || err != nil || out.LastEvaluatedKey == nil {
			return err
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

// Find returns everything that a query finds, up to its limit.
func (t *Table) Find(ctx context.Context, q Query) ([]Item, error) {
	list, _, err := t.Run(ctx, q)
	return list, err
}
