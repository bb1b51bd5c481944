// Package shared opens the stores that several servers share: a PostgreSQL database, and a place for archives and task
// logs, which is that database, S3 or a folder that all servers can access.
//
// `zerodag server` gives the result to package embedded. It must contain no rules.
package shared

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"zerodag/internal/embedded"
	"zerodag/internal/files"
	"zerodag/internal/host"
	"zerodag/internal/postgres"
	"zerodag/internal/s3"
	"zerodag/internal/tasklog"
)

// Options selects the stores to open.
type Options struct {
	Database postgres.Options
	Archives Place
	Logs     Place
	NoLogs   bool   // task logs are not kept
	AgentID  string // appears in the names of logs; "" means <pid>@<host>
	LogForm  tasklog.Form
	Logger   *slog.Logger // nil: none
}

// Place is where data is stored: in the bucket, otherwise in the folder, otherwise in the database.
type Place struct {
	Bucket *Bucket
	Folder string
}

// Bucket is part of an S3 bucket, or of a bucket in a store with the same protocol.
type Bucket struct {
	Name   string
	Folder string // "" is the root; otherwise it ends with a slash
	// Endpoint is the address of a store other than AWS; "" means AWS.
	Endpoint string
	Region   string // "": the region of the environment
	// AccessKeyID and SecretAccessKey are "" if the credentials come from the environment.
	AccessKeyID, SecretAccessKey string
	// Links lets clients read from the store through signed links instead of through the server.
	Links bool
}

// Open opens the stores. The caller must close the Store of the result.
func Open(ctx context.Context, o Options) (_ *embedded.Shared, err error) {
	o.AgentID = cmp.Or(o.AgentID, files.ThisAgent())
	o.Database.Server = o.AgentID
	db, err := postgres.Open(ctx, o.Database)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	s := &embedded.Shared{Store: store{db}, Time: db.Time, Logs: host.NoLogs{}, RemoveLogs: func(context.Context, []host.Attempt) error { return nil },
		Writable: db.Writable,
		Backup:   "The data of this server is in PostgreSQL: back it up with pg_dump, and objects in S3 with bucket versioning"}
	if s.Blobs, err = archives(ctx, db, o.Archives); err != nil {
		return nil, fmt.Errorf("open the store of archives: %w", err)
	}
	if !o.NoLogs {
		if err := o.logs(ctx, db, s); err != nil {
			return nil, fmt.Errorf("open the store of logs: %w", err)
		}
	}
	return s, nil
}

// Rejected reports whether the database refused the login, which waiting does not resolve.
func Rejected(err error) bool { return postgres.Rejected(err) }

// store is the database in the form that a server uses.
type store struct{ *postgres.DB }

// Queue implements embedded.Store.
func (s store) Queue(name string) host.Queue { return s.DB.Queue(name) }

func archives(ctx context.Context, db *postgres.DB, p Place) (host.Blobs, error) {
	switch {
	case p.Bucket != nil:
		c, err := p.Bucket.config(ctx)
		if err != nil {
			return nil, err
		}
		return blobs{s3.NewBlobs(c, p.Bucket.Name), *p.Bucket}, nil
	case p.Folder != "":
		return files.NewBlobs(p.Folder)
	}
	return postgres.NewBlobs(db), nil
}

func (o Options) logs(ctx context.Context, db *postgres.DB, s *embedded.Shared) error {
	switch p := o.Logs; {
	case p.Bucket != nil:
		c, err := p.Bucket.config(ctx)
		if err != nil {
			return err
		}
		logs := s3.NewLogs(c, s3.LogOptions{Bucket: p.Bucket.Name, Folder: p.Bucket.Folder, NoLinks: !p.Bucket.Links, AgentID: o.AgentID, Form: o.LogForm, Now: o.Database.Now})
		s.Logs, s.RemoveLogs = logs, logs.Remove
	case p.Folder != "":
		logs := files.NewLogs(files.LogOptions{Folder: p.Folder, AgentID: o.AgentID, Form: o.LogForm, Now: o.Database.Now})
		s.Logs, s.RemoveLogs = logs, logs.Remove
	default:
		logs := postgres.NewLogs(db, postgres.LogOptions{AgentID: o.AgentID, Form: o.LogForm, Now: o.Database.Now, Logger: o.Logger})
		s.Logs, s.RemoveLogs = logs, logs.Remove
	}
	return nil
}

// config returns the configuration of a client for the store.
func (b Bucket) config(ctx context.Context) (aws.Config, error) {
	var options []func(*awsconfig.LoadOptions) error
	if b.Region != "" {
		options = append(options, awsconfig.WithRegion(b.Region))
	}
	if b.AccessKeyID != "" {
		options = append(options, awsconfig.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(b.AccessKeyID, b.SecretAccessKey, "")))
	}
	if b.Endpoint != "" {
		options = append(options, awsconfig.WithBaseEndpoint(b.Endpoint))
	}
	c, err := awsconfig.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return c, fmt.Errorf("read the AWS configuration: %w", err)
	}
	if c.Region == "" {
		if b.Endpoint == "" {
			return c, fmt.Errorf("no AWS region for bucket %s: set AWS_REGION, or a region in the profile that AWS_PROFILE names", b.Name)
		}
		c.Region = "us-east-1" // it only affects signatures
	}
	return c, nil
}
