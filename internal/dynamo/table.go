package dynamo

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"zerodag/internal/env"
)

// CreateTable makes the table from the definition that infra uses, for tests; it returns
// when the table can be used.
func (db *DB) CreateTable(ctx context.Context) error {
	attributes := []string{env.PartitionKey, env.SortKey}
	in := &dynamodb.CreateTableInput{TableName: &db.table, BillingMode: types.BillingModePayPerRequest, KeySchema: schemaOf(env.PartitionKey, env.SortKey)}
	numbers := map[string]bool{}
	for _, x := range env.Indexes() {
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{IndexName: &x.Name, KeySchema: schemaOf(x.Partition, x.Sort),
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}})
		attributes = append(attributes, x.Partition, x.Sort)
		numbers[x.Sort] = true
	}
	slices.Sort(attributes)
	for _, name := range slices.Compact(attributes) {
		kind := types.ScalarAttributeTypeS
		if numbers[name] {
			kind = types.ScalarAttributeTypeN
		}
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: &name, AttributeType: kind})
	}
	if _, err := db.client.CreateTable(ctx, in); err != nil {
		return translate("create table", err)
	}
	return translate("create table", dynamodb.NewTableExistsWaiter(db.client).Wait(ctx, &dynamodb.DescribeTableInput{TableName: &db.table}, time.Minute))
}

// DeleteTable removes the table, for tests.
func (db *DB) DeleteTable(ctx context.Context) error {
	_, err := db.client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &db.table})
	return translate("delete table", err)
}

func schemaOf(partition, sort string) []types.KeySchemaElement {
	return []types.KeySchemaElement{{AttributeName: &partition, KeyType: types.KeyTypeHash}, {AttributeName: &sort, KeyType: types.KeyTypeRange}}
}
