package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/jsii-runtime-go"

	"zerodag/internal/env"
)

// createTable makes the one table: logs of attempts, catalogue, schedules, tokens. It
// outlives the stack: a later deployment takes it over by its name.
func (z *stack) createTable() {
	if z.Adopt {
		z.table = awsdynamodb.Table_FromTableName(z.Stack, jsii.String("Table"), z.name("table"))
		return
	}
	attribute := func(name string, kind awsdynamodb.AttributeType) *awsdynamodb.Attribute {
		return &awsdynamodb.Attribute{Name: jsii.String(name), Type: kind}
	}
	table := awsdynamodb.NewTable(z.Stack, jsii.String("Table"), &awsdynamodb.TableProps{
		TableName:           z.name("table"),
		PartitionKey:        attribute(env.PartitionKey, awsdynamodb.AttributeType_STRING),
		SortKey:             attribute(env.SortKey, awsdynamodb.AttributeType_STRING),
		BillingMode:         awsdynamodb.BillingMode_PAY_PER_REQUEST,
		TimeToLiveAttribute: jsii.String(env.Expiry),
		Encryption:          awsdynamodb.TableEncryption_AWS_MANAGED,
		RemovalPolicy:       awscdk.RemovalPolicy_RETAIN,
		DeletionProtection:  jsii.Bool(true),
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
		})
	}
	z.table = table
}
