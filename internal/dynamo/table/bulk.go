package table

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// PutAll writes items in no particular order and not atomically. A repeated call changes nothing.
func (t *Table) PutAll(ctx context.Context, items []Item) error {
	ask := make([]types.WriteRequest, len(items))
	for i, it := range items {
		ask[i].PutRequest = &types.PutRequest{Item: it}
	}
	return t.writeAll(ctx, ask)
}

// DeleteAll deletes items: like PutAll, in no particular order and not atomically.
func (t *Table) DeleteAll(ctx context.Context, keys []Key) error {
	ask := make([]types.WriteRequest, len(keys))
	for i, k := range keys {
		ask[i].DeleteRequest = &types.DeleteRequest{Key: k.Item()}
	}
	return t.writeAll(ctx, ask)
}

func (t *Table) writeAll(ctx context.Context, ask []types.WriteRequest) error {
	for part := range slices.Chunk(ask, maxBatchWrite) {
		if err := t.writePart(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// writePart writes the items of one call, and repeats the call until all of them are written.
func (t *Table) writePart(ctx context.Context, ask []types.WriteRequest) error {
	for try := 0; len(ask) > 0; try++ {
		out, err := t.client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{t.name: ask}})
		if err != nil {
			return translate("write items", err)
		}
		left := out.UnprocessedItems[t.name]
		if len(left) > 0 {
			if err := Pause(ctx, try); err != nil {
				return err
			}
		}
		ask = left
	}
	return nil
}
