package deployment

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/jsii-runtime-go"

	"zerodag/internal/env"
)

// keep is the removal policy of a store: it stays when its stack is removed. Only a failed deploy removes the stores
// that it created, because otherwise the next deploy would find their names taken.
const keep = awscdk.RemovalPolicy_RETAIN_ON_UPDATE_OR_DELETE

// keepProtected is the removal policy of a resource that may have deletion protection. A first deploy that fails could
// not delete it, so its rollback would fail. Therefore the resource stays even then, and the next deploy imports it.
func (d *Deployment) keepProtected() awscdk.RemovalPolicy {
	if d.Settings.DeletionProtection {
		return awscdk.RemovalPolicy_RETAIN
	}
	return keep
}

// createTable creates the only table: attempt logs, catalog, schedules, tokens. It outlives the stack: a later
// deployment imports it by its name, so the name is literal. It is encrypted with AWS's own key, which is free, unless
// the settings name a key, whose use is billed every five minutes forever.
func (d *Deployment) createTable() {
	attribute := func(name string, kind awsdynamodb.AttributeType) *awsdynamodb.Attribute {
		return &awsdynamodb.Attribute{Name: jsii.String(name), Type: kind}
	}
	encryption := awsdynamodb.TableEncryption_DEFAULT
	if d.key != nil {
		encryption = awsdynamodb.TableEncryption_CUSTOMER_MANAGED
	}
	table := awsdynamodb.NewTable(d.scope, jsii.String("Table"), &awsdynamodb.TableProps{
		TableName:           d.name("table"),
		PartitionKey:        attribute(env.PartitionKey, awsdynamodb.AttributeType_STRING),
		SortKey:             attribute(env.SortKey, awsdynamodb.AttributeType_STRING),
		BillingMode:         awsdynamodb.BillingMode_PAY_PER_REQUEST,
		TimeToLiveAttribute: jsii.String(env.Expiry),
		Encryption:          encryption,
		EncryptionKey:       d.key,
		RemovalPolicy:       d.keepProtected(),
		DeletionProtection:  jsii.Bool(d.Settings.DeletionProtection),
		WarmThroughput:      d.warmThroughput(),
		PointInTimeRecoverySpecification: &awsdynamodb.PointInTimeRecoverySpecification{
			PointInTimeRecoveryEnabled: jsii.Bool(true),
		},
	})
	for _, x := range env.Indexes() {
		table.AddGlobalSecondaryIndex(&awsdynamodb.GlobalSecondaryIndexProps{
			IndexName:      jsii.String(x.Name),
			PartitionKey:   attribute(x.Partition, awsdynamodb.AttributeType_STRING),
			SortKey:        attribute(x.Sort, awsdynamodb.AttributeType_NUMBER),
			ProjectionType: awsdynamodb.ProjectionType_KEYS_ONLY,
			WarmThroughput: d.warmThroughput(),
		})
	}
	d.table = table
}

// readsPerWrite is how many read units per second DynamoDB offers for each write unit of a partition.
const readsPerWrite = 3

// warmThroughput returns the throughput that the table and each index can take immediately; nil means DynamoDB's
// default for new tables.
func (d *Deployment) warmThroughput() *awsdynamodb.WarmThroughput {
	if d.WarmThroughput == 0 {
		return nil
	}
	return &awsdynamodb.WarmThroughput{WriteUnitsPerSecond: jsii.Number(d.WarmThroughput), ReadUnitsPerSecond: jsii.Number(readsPerWrite * d.WarmThroughput)}
}
