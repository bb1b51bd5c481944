package table

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"zerodag/internal/border"
	"zerodag/internal/env"
)

// Table is the table, with everything that is needed to create rows. It is safe for concurrent use.
type Table struct {
	client   *dynamodb.Client
	name     string
	Blobs    Blobs
	lifetime time.Duration
	Now      func() time.Time
	ids      ids
}

// Config holds the settings of a Table.
type Config struct {
	Name  string
	Blobs Blobs
	// Lifetime is the minimum time for which an attempt's log is kept, counted from its start; 0 means 37 days.
	Lifetime time.Duration
	Now      func() time.Time // nil means time.Now
	Tries    int              // tries of a call that was throttled or got no response; 0 means border.Tries
}

// Open returns a Table for an existing table.
func Open(c aws.Config, o Config) *Table {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Lifetime == 0 {
		o.Lifetime = 37 * 24 * time.Hour
	}
	client := dynamodb.NewFromConfig(border.Answered(c), func(d *dynamodb.Options) { d.Retryer = border.Retryer(o.Tries, conflicts()...) })
	return &Table{client: client, name: o.Name, Blobs: o.Blobs, lifetime: o.Lifetime, Now: o.Now, ids: ids{now: o.Now}}
}

// Create creates the table from the definition that infra uses, for tests. It returns when the table can be used.
func (t *Table) Create(ctx context.Context) error {
	attributes := []string{env.PartitionKey, env.SortKey}
	in := &dynamodb.CreateTableInput{TableName: &t.name, BillingMode: types.BillingModePayPerRequest, KeySchema: schemaOf(env.PartitionKey, env.SortKey)}
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
	if _, err := t.client.CreateTable(ctx, in); err != nil {
		return translate("create table", err)
	}
	return translate("create table", dynamodb.NewTableExistsWaiter(t.client).Wait(ctx, &dynamodb.DescribeTableInput{TableName: &t.name}, time.Minute))
}

// Delete removes the table, for tests.
func (t *Table) Delete(ctx context.Context) error {
	_, err := t.client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &t.name})
	return translate("delete table", err)
}

func schemaOf(partition, sort string) []types.KeySchemaElement {
	return []types.KeySchemaElement{{AttributeName: &partition, KeyType: types.KeyTypeHash}, {AttributeName: &sort, KeyType: types.KeyTypeRange}}
}
