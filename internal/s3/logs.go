package s3

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"zerodag/internal/host"
	"zerodag/internal/tasklog"
	"zerodag/operators"
)

// Short keeps logs that are too short for an object.
type Short interface {
	// KeepShort keeps a short log, gzip-compressed, with the next result of the attempt.
	KeepShort(attempt int64, name string, content []byte)
	// EachShort calls f for the short logs of an attempt.
	EachShort(ctx context.Context, attempt int64, f func(name string, content []byte)) error
}

// LogOptions holds the settings of Logs.
type LogOptions struct {
	Bucket  string
	Folder  string       // the folder of the bucket that holds the logs: "" for its root, otherwise a name that ends with a slash
	AgentID string       // appears in file names
	Form    tasklog.Form // the format of the engine's lines
	// NoLinks means that clients read logs only through the server. Otherwise lists of files have links, which are
	// valid for minutes.
	NoLinks bool
	Short   Short // nil: short logs are also objects
	// Rotate is how many bytes an object may contain before the log continues in another one; the default is 1 MB.
	Rotate int
	// Moment is the delay after which a growing log is first put, for live viewers; the delay doubles each time, up to
	// LongestMoment. The defaults are 5 s and a minute.
	Moment, LongestMoment time.Duration
	Now                   func() time.Time // time.Now when nil
}

// Logs keeps task logs in a bucket: a host.Logs.
type Logs struct {
	LogOptions
	client *s3.Client
	sign   *s3.PresignClient
	zips   tasklog.Zips

	mu   sync.Mutex
	last time.Time // the time in the newest name
}

// largestShort is the largest size of a short log, in compressed bytes.
const largestShort = 1 << 10

// linkValid is how long the links in lists of files can be used.
const linkValid = 10 * time.Minute

// NewLogs returns the Logs of an existing bucket.
func NewLogs(c aws.Config, o LogOptions) *Logs {
	if o.Rotate == 0 {
		o.Rotate = 1 << 20
	}
	if o.Moment == 0 {
		o.Moment = 5 * time.Second
	}
	if o.LongestMoment == 0 {
		o.LongestMoment = time.Minute
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	client := newClient(c)
	return &Logs{LogOptions: o, client: client, sign: s3.NewPresignClient(client)}
}

// folder returns the folder of an attempt's logs.
func (l *Logs) folder(site, attempt int64) string {
	return fmt.Sprintf("%slogs/%d/%d/", l.Folder, site, attempt)
}

// Open begins a run's log: see host.Logs.
func (l *Logs) Open(id operators.Identity, _ time.Time) host.TaskLog {
	return &taskLog{logs: l, id: id, source: l.Form.Source(id), wait: l.Moment}
}

// unique returns a time moved forward just far enough that no other log of this process has the same time.
func (l *Logs) unique(at time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !at.After(l.last) && l.last.Sub(at) < time.Second {
		at = l.last.Add(1)
	}
	l.last = at
	return at
}

// Files lists the log files of an attempt.
func (l *Logs) Files(ctx context.Context, a host.Attempt, prefix string) ([]host.LogFile, error) {
	where := l.folder(a.Site, a.ID)
	var list []host.LogFile
	for p := s3.NewListObjectsV2Paginator(l.client, &s3.ListObjectsV2Input{Bucket: &l.Bucket, Prefix: aws.String(where + tasklog.Within(prefix))}); p.HasMorePages(); {
		page, err := p.NextPage(ctx)
		if err != nil {
			return nil, translate(fmt.Sprintf("list logs of attempt %d", a.ID), err)
		}
		for _, o := range page.Contents {
			f, ok := tasklog.ParseName(strings.TrimPrefix(*o.Key, where))
			if !ok {
				continue
			}
			f.Size = aws.ToInt64(o.Size)
			if f.Direct, err = l.link(ctx, &s3.GetObjectInput{Key: o.Key}); err != nil {
				return nil, err
			}
			list = append(list, f)
		}
	}
	err := l.eachShort(ctx, a.ID, func(name string, content []byte) {
		if f, ok := tasklog.ParseName(name); ok && strings.HasPrefix(name, prefix) {
			f.Size = int64(len(content))
			list = append(list, f)
		}
	})
	slices.SortFunc(list, func(x, y host.LogFile) int { return strings.Compare(x.Name, y.Name) })
	return list, err
}

// link returns a link for reading a log without credentials, or "" if clients get none. The response has no
// Content-Encoding: Digdag's client unpacks the content itself, and with that header, its HTTP library would already
// have done so.
func (l *Logs) link(ctx context.Context, in *s3.GetObjectInput) (string, error) {
	if l.NoLinks {
		return "", nil
	}
	in.Bucket = &l.Bucket
	r, err := l.sign.PresignGetObject(ctx, in, s3.WithPresignExpires(linkValid))
	if err != nil {
		return "", translate("sign link to "+*in.Key, err)
	}
	return r.URL, nil
}

// TextLink returns a link whose response a browser shows as text: its headers declare compressed plain text. See
// host.TextLinks.
func (l *Logs) TextLink(ctx context.Context, a host.Attempt, f host.LogFile) (string, error) {
	return l.link(ctx, &s3.GetObjectInput{Key: aws.String(l.folder(a.Site, a.ID) + f.Name), ResponseContentType: aws.String("text/plain; charset=utf-8"),
		ResponseContentEncoding: aws.String("gzip"), ResponseContentDisposition: aws.String("inline")})
}

// Remove deletes all logs of attempts that are objects. Doing so twice is not an error. A deployment on AWS leaves this
// to a lifecycle rule of the bucket.
func (l *Logs) Remove(ctx context.Context, list []host.Attempt) error {
	for _, a := range list {
		where := l.folder(a.Site, a.ID)
		for p := s3.NewListObjectsV2Paginator(l.client, &s3.ListObjectsV2Input{Bucket: &l.Bucket, Prefix: &where}); p.HasMorePages(); {
			page, err := p.NextPage(ctx)
			if err != nil {
				return translate(fmt.Sprintf("list logs of attempt %d", a.ID), err)
			}
			for _, o := range page.Contents { // one by one, because not every S3-compatible store deletes several
				if _, err := l.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &l.Bucket, Key: o.Key}); err != nil {
					return translate("delete "+*o.Key, err)
				}
			}
		}
	}
	return nil
}

func (l *Logs) eachShort(ctx context.Context, attempt int64, f func(string, []byte)) error {
	if l.Short == nil {
		return nil
	}
	return l.Short.EachShort(ctx, attempt, f)
}

// File opens a log file of an attempt.
func (l *Logs) File(ctx context.Context, a host.Attempt, name string) (io.ReadCloser, int64, error) {
	if _, ok := tasklog.ParseName(name); !ok {
		return nil, 0, fmt.Errorf("read log %q: %w", name, host.ErrNotFound)
	}
	var short []byte
	if err := l.eachShort(ctx, a.ID, func(n string, content []byte) {
		if n == name {
			short = content
		}
	}); err != nil {
		return nil, 0, err
	}
	if short != nil {
		return io.NopCloser(bytes.NewReader(short)), int64(len(short)), nil
	}
	return open(ctx, l.client, l.Bucket, l.folder(a.Site, a.ID)+name)
}
