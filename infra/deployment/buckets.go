package deployment

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/jsii-runtime-go"
)

// attemptDays is how long parts of an attempt's log are kept: longer than the entries that name them, which live for
// the longest attempt plus 30 days.
const attemptDays = 38

// createBuckets creates the buckets for archives and task logs. Both outlive the stack, and a later stack imports them
// by name. Everything refers to them by name, which is known before they exist: the bucket of archives calls the upload
// function, which reads the bucket, so one of them must be named before it exists.
func (d *Deployment) createBuckets() {
	d.archives = awss3.Bucket_FromBucketName(d.scope, jsii.String("ArchivesByName"), d.bucketName("archives"))
	d.logs = awss3.Bucket_FromBucketName(d.scope, jsii.String("LogsByName"), d.bucketName("logs"))
	gone := func(id, prefix string, after int) *awss3.LifecycleRule {
		return &awss3.LifecycleRule{Id: jsii.String(id), Prefix: jsii.String(prefix), Expiration: days(after), NoncurrentVersionExpiration: days(1)}
	}
	d.ownArchives = d.bucket("Archives", d.archives.BucketName(), true, []*awss3.LifecycleRule{
		gone("uploads", "uploads/", 1), gone("slots", "slots/", 1), gone("results", "results/", 1),
		gone("attempts", "log/", attemptDays),
		{Id: jsii.String("parts"), AbortIncompleteMultipartUploadAfter: days(1)},
		{Id: jsii.String("old-versions"), NoncurrentVersionExpiration: days(30)},
	})
	d.bucket("Logs", d.logs.BucketName(), false, []*awss3.LifecycleRule{
		{Id: jsii.String("logs"), Expiration: days(d.LogDays)},
	})
}

// bucketName returns a globally unique name; S3 allows 63 characters, which leaves enough for the stage. It is literal
// if the stack knows its account and region, because CloudFormation can import only literal names.
func (d *Deployment) bucketName(what string) *string {
	return jsii.String("zerodag-" + d.Stage + "-" + what + "-" + *d.stack.Account() + "-" + *d.stack.Region())
}

func (d *Deployment) bucket(id string, name *string, versioned bool, rules []*awss3.LifecycleRule) awss3.Bucket {
	encryption := awss3.BucketEncryption_S3_MANAGED
	var oneKey *bool
	if d.key != nil {
		encryption, oneKey = awss3.BucketEncryption_KMS, jsii.Bool(true) // a bucket key saves one KMS request per object
	}
	b := awss3.NewBucket(d.scope, jsii.String(id), &awss3.BucketProps{
		BucketName:        name,
		BlockPublicAccess: awss3.BlockPublicAccess_BLOCK_ALL(),
		EnforceSSL:        jsii.Bool(true),
		Encryption:        encryption,
		EncryptionKey:     d.key,
		BucketKeyEnabled:  oneKey,
		ObjectOwnership:   awss3.ObjectOwnership_BUCKET_OWNER_ENFORCED,
		Versioned:         jsii.Bool(versioned),
		LifecycleRules:    &rules,
		RemovalPolicy:     keep,
	})
	b.Policy().ApplyRemovalPolicy(keep) // so that even a kept bucket never allows plain HTTP
	policy := b.Policy().Node().DefaultChild().(awss3.CfnBucketPolicy)
	policy.SetBucket(name) // it is imported with the bucket, by that name
	return b
}

// createUploadTrigger lets S3 call the upload function. S3 tests its permission when the notification is set: the
// permission must exist before the notification, and therefore the function before the bucket. The CDK's solution, a
// function that may change the notifications of any bucket, has too many rights.
func (d *Deployment) createUploadTrigger() {
	f := d.functions["upload"]
	permission := awslambda.NewCfnPermission(d.scope, jsii.String("UploadPermission"), &awslambda.CfnPermissionProps{
		Action: jsii.String("lambda:InvokeFunction"), FunctionName: f.FunctionArn(), Principal: jsii.String("s3.amazonaws.com"),
		SourceArn: d.archives.BucketArn(), SourceAccount: d.stack.Account()})
	b := d.ownArchives.Node().DefaultChild().(awss3.CfnBucket)
	b.SetNotificationConfiguration(&awss3.CfnBucket_NotificationConfigurationProperty{
		LambdaConfigurations: []any{&awss3.CfnBucket_LambdaConfigurationProperty{
			Event: jsii.String("s3:ObjectCreated:*"), Function: f.FunctionArn(),
			Filter: &awss3.CfnBucket_NotificationFilterProperty{S3Key: &awss3.CfnBucket_S3KeyFilterProperty{
				Rules: []any{&awss3.CfnBucket_FilterRuleProperty{Name: jsii.String("prefix"), Value: jsii.String("uploads/")}}}},
		}}})
	b.AddDependency(permission)
}

func days(n int) awscdk.Duration { return awscdk.Duration_Days(jsii.Number(n)) }

func seconds(n int) awscdk.Duration { return awscdk.Duration_Seconds(jsii.Number(n)) }
