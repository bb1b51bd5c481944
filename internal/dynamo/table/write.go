package table

import (
	"context"
	"errors"
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Where is a condition or an update with the names and values in it: "#name" and ":value".
type Where struct {
	Text   string
	Names  []string
	Values Item
}

// nameMap maps "#name" to name: all names are written that way, because many are reserved words.
func nameMap(parts ...Where) map[string]string {
	m := map[string]string{}
	for _, w := range parts {
		for _, n := range w.Names {
			m["#"+n] = n
		}
	}
	if len(m) == 0 {
		return nil
	}
	return m
}

func valueMap(parts ...Where) Item {
	m := Item{}
	for _, w := range parts {
		maps.Copy(m, w.Values)
	}
	if len(m) == 0 {
		return nil
	}
	return m
}

// Put writes an item under a condition. With ErrCondition it returns the existing item.
func (t *Table) Put(ctx context.Context, it Item, w Where) (Item, error) {
	in := &dynamodb.PutItemInput{TableName: &t.name, Item: it, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld}
	if w.Text != "" {
		in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues = &w.Text, nameMap(w), w.Values
	}
	_, err := t.client.PutItem(ctx, in)
	return refused("write "+it.Str(Partition), err)
}

// Update changes an item under a condition. With ErrCondition it returns the current item.
func (t *Table) Update(ctx context.Context, k Key, change, w Where) (Item, error) {
	_, err := t.client.UpdateItem(ctx, t.updateInput(k, change, w))
	return refused("update "+k.Partition, err)
}

// Updated is like Update, but returns the updated item.
func (t *Table) Updated(ctx context.Context, k Key, change, w Where) (Item, error) {
	in := t.updateInput(k, change, w)
	in.ReturnValues = types.ReturnValueAllNew
	out, err := t.client.UpdateItem(ctx, in)
	if err != nil {
		return refused("update "+k.Partition, err)
	}
	return out.Attributes, nil
}

func (t *Table) updateInput(k Key, change, w Where) *dynamodb.UpdateItemInput {
	in := &dynamodb.UpdateItemInput{TableName: &t.name, Key: k.Item(), UpdateExpression: &change.Text,
		ExpressionAttributeNames: nameMap(change, w), ExpressionAttributeValues: valueMap(change, w),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld}
	if w.Text != "" {
		in.ConditionExpression = &w.Text
	}
	return in
}

// Remove deletes an item under a condition.
func (t *Table) Remove(ctx context.Context, k Key, w Where) error {
	in := &dynamodb.DeleteItemInput{TableName: &t.name, Key: k.Item()}
	if w.Text != "" {
		in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues = &w.Text, nameMap(w), valueMap(w)
	}
	_, err := t.client.DeleteItem(ctx, in)
	_, err = refused("delete "+k.Partition, err)
	return err
}

func refused(doing string, err error) (Item, error) {
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		return failed.Item, ErrCondition
	}
	return nil, translate(doing, err)
}

// Absent returns the condition that the item does not exist.
func Absent() Where { return Where{Text: "attribute_not_exists(#p)", Names: []string{Partition}} }

// Exists returns the condition that the item exists.
func Exists() Where { return Where{Text: "attribute_exists(#p)", Names: []string{Partition}} }
