package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/jsii-runtime-go"
)

// attemptDays is how long parts of an attempt's log are kept: longer than the entries that
// name them, which live for the longest attempt and 30 days.
const attemptDays = 38

// createBuckets makes the buckets of archives and of task logs. Both outlive the stack.
func (z *stack) createBuckets() {
	z.archives = z.bucket("Archives", true, []*awss3.LifecycleRule{
		{Id: jsii.String("uploads"), Prefix: jsii.String("uploads/"), Expiration: days(1), NoncurrentVersionExpiration: days(1)},
		{Id: jsii.String("attempts"), Prefix: jsii.String("log/"), Expiration: days(attemptDays), NoncurrentVersionExpiration: days(1)},
		{Id: jsii.String("parts"), AbortIncompleteMultipartUploadAfter: days(1)},
		{Id: jsii.String("old-versions"), NoncurrentVersionExpiration: days(30)},
	})
	z.logs = z.bucket("Logs", false, []*awss3.LifecycleRule{
		{Id: jsii.String("logs"), Expiration: days(z.LogDays)},
	})
}

func (z *stack) bucket(id string, versioned bool, rules []*awss3.LifecycleRule) awss3.Bucket {
	return awss3.NewBucket(z.Stack, jsii.String(id), &awss3.BucketProps{
		BlockPublicAccess: awss3.BlockPublicAccess_BLOCK_ALL(),
		EnforceSSL:        jsii.Bool(true),
		Encryption:        awss3.BucketEncryption_S3_MANAGED,
		ObjectOwnership:   awss3.ObjectOwnership_BUCKET_OWNER_ENFORCED,
		Versioned:         jsii.Bool(versioned),
		LifecycleRules:    &rules,
		RemovalPolicy:     awscdk.RemovalPolicy_RETAIN,
	})
}

func days(n int) awscdk.Duration { return awscdk.Duration_Days(jsii.Number(n)) }

func seconds(n int) awscdk.Duration { return awscdk.Duration_Seconds(jsii.Number(n)) }
