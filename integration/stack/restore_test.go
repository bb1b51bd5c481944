package stack_test

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"zerodag/integration/localstack"
	"zerodag/integration/server"
)

// TestRestoredElsewhere checks the steps of docs/aws.md, "In another region": a stage that was deployed and removed
// there, whose table is then replaced by a copy and whose buckets and secrets are filled with copies, has the projects,
// schedules, tokens, secrets and logs of the original after the next deploy, and after a revival, its attempts
// continue. LocalStack has only one region, so the copies get the names of another stage, which changes more than
// another region would. It deploys three times, so it must be requested: ZERODAG_CDK=1.
func TestRestoredElsewhere(t *testing.T) {
	if os.Getenv("ZERODAG_CDK") == "" {
		t.Skip("SKIPPED: it takes minutes: set ZERODAG_CDK=1")
	}
	config := localstack.Config(t)
	suffix := strings.ToLower(rand.Text()[:8])
	from, to := plain{t, "from-" + suffix, filepath.Join(t.TempDir(), "outputs.json")}, plain{t, "to-" + suffix, filepath.Join(t.TempDir(), "outputs.json")}
	if _, err := from.cdk("bootstrap", "aws://000000000000/us-east-1"); err != nil {
		t.Fatal(err)
	}
	for _, p := range []plain{from, to} {
		if _, err := p.deploy(); err != nil {
			t.Fatal("the stage is not deployed")
		}
	}
	before := pusher{t, from.url(), from.token(lambda.NewFromConfig(config)), "kept", server.Build(t)}
	before.pushLife()
	ended, waits := before.starts("main"), before.starts("long")
	before.succeeds(ended, time.Minute)
	before.sleeps(waits, time.Minute) // otherwise its first run may be in progress, and it continues only after 20 minutes
	from.stop(before)
	to.remove(before) // its table and buckets stay and are empty
	copied := copies{t, config, from.stage, to.stage}
	copied.restore()
	copied.table()
	copied.complete()
	copied.bucket("archives")
	copied.bucket("logs")
	copied.secrets()

	if _, err := to.deploy(); err != nil {
		t.Fatal("the copies are not imported")
	}
	after := before
	after.url = to.url()
	if code, out := after.run(".", "admin", "revive", "--iam"); code != 0 {
		t.Fatalf("revive: exit code %d\n%s", code, out)
	}
	after.succeeds(waits, 5*time.Minute)
	for attempt, line := range map[string]string{ended: "before the copy", waits: "the secret is there"} {
		if code, out := after.run(".", "log", attempt); code != 0 || !strings.Contains(out, line) {
			t.Errorf("log of attempt %s: exit code %d\n%s", attempt, code, out)
		}
	}
	if code, out := after.run(".", "schedules"); code != 0 || !strings.Contains(out, "nightly") {
		t.Errorf("schedules: exit code %d\n%s", code, out)
	}
	after.runs()
}

// pushLife pushes a project with a schedule, a secret, and an attempt that outlives a copy.
func (p pusher) pushLife() {
	p.t.Helper()
	folder := p.t.TempDir()
	for name, text := range map[string]string{
		"main.dig":    "+a:\n  echo>: before the copy\n",
		"nightly.dig": "timezone: UTC\nschedule: {daily>: 02:00:00}\n+a:\n  echo>: night\n",
		"long.dig":    "+a:\n  wait>: 90s\n+b:\n  sh>: test \"$WORD\" = open-sesame && echo the secret is there\n  _env: {WORD: \"${secret:word}\"}\n",
		"word":        "open-sesame",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			p.t.Fatal(err)
		}
	}
	for _, arguments := range [][]string{{"push", p.project, "-r", "one"}, {"secrets", "--project", p.project, "--set", "word=@word"}} {
		if code, out := p.run(folder, arguments...); code != 0 {
			p.t.Fatal(out)
		}
	}
}

// copies makes copies of the data that outlives a stage, under the names of another stage.
type copies struct {
	t        *testing.T
	config   aws.Config
	from, to string // stages
}

// name returns the name of a stage's table.
func (copies) name(stage string) *string { return aws.String("zerodag-" + stage + "-table") }

// restore deletes the table that the removed stage has left, and creates it as a restore from a backup does: with only
// the keys and indexes of the original.
func (c copies) restore() {
	c.t.Helper()
	db := dynamodb.NewFromConfig(c.config)
	original, err := db.DescribeTable(c.t.Context(), &dynamodb.DescribeTableInput{TableName: c.name(c.from)})
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := db.UpdateTable(c.t.Context(), &dynamodb.UpdateTableInput{TableName: c.name(c.to), DeletionProtectionEnabled: aws.Bool(false)}); err != nil {
		c.t.Fatal(err)
	}
	if _, err := db.DeleteTable(c.t.Context(), &dynamodb.DeleteTableInput{TableName: c.name(c.to)}); err != nil {
		c.t.Fatal(err)
	}
	if err := dynamodb.NewTableNotExistsWaiter(db).Wait(c.t.Context(), &dynamodb.DescribeTableInput{TableName: c.name(c.to)}, time.Minute); err != nil {
		c.t.Fatal(err)
	}
	in := &dynamodb.CreateTableInput{TableName: c.name(c.to), BillingMode: types.BillingModePayPerRequest, KeySchema: original.Table.KeySchema, AttributeDefinitions: original.Table.AttributeDefinitions}
	for _, i := range original.Table.GlobalSecondaryIndexes {
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{IndexName: i.IndexName, KeySchema: i.KeySchema, Projection: i.Projection})
	}
	if _, err := db.CreateTable(c.t.Context(), in); err != nil {
		c.t.Fatal(err)
	}
	if err := dynamodb.NewTableExistsWaiter(db).Wait(c.t.Context(), &dynamodb.DescribeTableInput{TableName: c.name(c.to)}, time.Minute); err != nil {
		c.t.Fatal(err)
	}
}

// complete sets the properties that a restore omits.
func (c copies) complete() {
	c.t.Helper()
	db := dynamodb.NewFromConfig(c.config)
	if _, err := db.UpdateTimeToLive(c.t.Context(), &dynamodb.UpdateTimeToLiveInput{TableName: c.name(c.to), TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("x"), Enabled: aws.Bool(true)}}); err != nil {
		c.t.Fatal(err)
	}
	if _, err := db.UpdateContinuousBackups(c.t.Context(), &dynamodb.UpdateContinuousBackupsInput{TableName: c.name(c.to), PointInTimeRecoverySpecification: &types.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: aws.Bool(true)}}); err != nil {
		c.t.Fatal(err)
	}
	if _, err := db.UpdateTable(c.t.Context(), &dynamodb.UpdateTableInput{TableName: c.name(c.to), DeletionProtectionEnabled: aws.Bool(true)}); err != nil {
		c.t.Fatal(err)
	}
}

// table copies all items.
func (c copies) table() {
	c.t.Helper()
	db := dynamodb.NewFromConfig(c.config)
	pages := dynamodb.NewScanPaginator(db, &dynamodb.ScanInput{TableName: c.name(c.from), ConsistentRead: aws.Bool(true)})
	items := 0
	for pages.HasMorePages() {
		page, err := pages.NextPage(c.t.Context())
		if err != nil {
			c.t.Fatal(err)
		}
		for _, item := range page.Items {
			if _, err := db.PutItem(c.t.Context(), &dynamodb.PutItemInput{TableName: c.name(c.to), Item: item}); err != nil {
				c.t.Fatal(err)
			}
			items++
		}
	}
	if items == 0 {
		c.t.Fatal("the table is empty")
	}
}

// bucket copies all objects with the metadata stored with their content.
func (c copies) bucket(kind string) {
	c.t.Helper()
	objects := s3.NewFromConfig(c.config, func(o *s3.Options) { o.UsePathStyle = true })
	from, to := c.bucketOf(objects, kind, c.from), c.bucketOf(objects, kind, c.to)
	pages := s3.NewListObjectsV2Paginator(objects, &s3.ListObjectsV2Input{Bucket: aws.String(from)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(c.t.Context())
		if err != nil {
			c.t.Fatal(err)
		}
		for _, o := range page.Contents {
			if _, err := objects.CopyObject(c.t.Context(), &s3.CopyObjectInput{Bucket: aws.String(to), Key: o.Key, CopySource: aws.String(from + "/" + *o.Key)}); err != nil {
				c.t.Fatal(err)
			}
		}
	}
}

// bucketOf returns the name of a stage's bucket.
func (c copies) bucketOf(objects *s3.Client, kind, stage string) string {
	c.t.Helper()
	list, err := objects.ListBuckets(context.WithoutCancel(c.t.Context()), &s3.ListBucketsInput{})
	if err != nil {
		c.t.Fatal(err)
	}
	for _, b := range list.Buckets {
		if strings.HasPrefix(*b.Name, "zerodag-"+stage+"-"+kind+"-") {
			return *b.Name
		}
	}
	c.t.Fatalf("%s has no bucket of %s", stage, kind)
	return ""
}

// secrets copies all secrets.
func (c copies) secrets() {
	c.t.Helper()
	parameters := ssm.NewFromConfig(c.config)
	pages := ssm.NewGetParametersByPathPaginator(parameters, &ssm.GetParametersByPathInput{Path: aws.String("/zerodag/" + c.from + "/"), Recursive: aws.Bool(true), WithDecryption: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(c.t.Context())
		if err != nil {
			c.t.Fatal(err)
		}
		for _, x := range page.Parameters {
			name := strings.Replace(*x.Name, "/"+c.from+"/", "/"+c.to+"/", 1)
			if _, err := parameters.PutParameter(c.t.Context(), &ssm.PutParameterInput{Name: &name, Value: x.Value, Type: x.Type}); err != nil {
				c.t.Fatal(err)
			}
		}
	}
}
