package dynamo

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"zerodag/internal/border"
	"zerodag/internal/host"
)

// Blobs is where parts that are too large for an item lie. A key is written once.
type Blobs interface {
	Put(ctx context.Context, key string, r io.Reader, size int64) error
	Open(ctx context.Context, key string) (io.ReadCloser, int64, error)
	Delete(ctx context.Context, key string) error
}

// Options are what a DB is made of.
type Options struct {
	Table  string
	Blobs  Blobs
	Events host.Queue // where first messages of attempts are sent to
	// Lifetime is how long the log of an attempt is kept at least, counted from its start:
	// the longest life of an attempt and what it may be looked at afterwards. 37 days.
	Lifetime time.Duration
	Now      func() time.Time // time.Now when nil
	Tries    int              // of a call that was throttled or had no answer: border.Tries
}

// DB is the driver. It is safe for concurrent use; one is enough for a process.
type DB struct {
	client   *dynamodb.Client
	table    string
	blobs    Blobs
	events   host.Queue
	lifetime time.Duration
	now      func() time.Time
	ids      ids
	tails    tails
	recent   recent
	short    shortLogs
}

// New makes a DB over a table that exists.
func New(c aws.Config, o Options) *DB {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Lifetime == 0 {
		o.Lifetime = 37 * 24 * time.Hour
	}
	client := dynamodb.NewFromConfig(border.Answered(c), func(d *dynamodb.Options) { d.Retryer = border.Retryer(o.Tries, conflicts()...) })
	return &DB{client: client, table: o.Table, blobs: o.Blobs, events: o.Events, lifetime: o.Lifetime, now: o.Now, ids: ids{now: o.Now}}
}

// epoch is where ids begin to count milliseconds.
var epoch = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // never changed

// randomBits are the low bits of an id.
const randomBits = 12

// ids makes time-sortable ids of 53 bits: milliseconds, then random bits. The conditional
// put that makes a row finds out when two processes had the same idea; ids of one process
// ascend.
type ids struct {
	now func() time.Time

	mu   sync.Mutex
	last int64
	slot int64
}

// next returns the first of n ids in a row.
func (x *ids) next(n int) int64 {
	id := x.now().Sub(epoch).Milliseconds()<<randomBits | randomInt(1<<randomBits)
	x.mu.Lock()
	defer x.mu.Unlock()
	id = max(id, x.last+1)
	x.last = id + int64(n) - 1
	return id
}

// slots returns the first id of n whole milliseconds in a row, for what takes many ids and
// reserves them before it uses them.
func (x *ids) slots(n int64) int64 {
	now := x.now().Sub(epoch).Milliseconds()
	x.mu.Lock()
	defer x.mu.Unlock()
	first := max(now, x.slot)
	x.slot = first + n
	return first << randomBits
}

// madeAt is when an id was made.
func madeAt(id int64) time.Time {
	return epoch.Add(time.Duration(id>>randomBits) * time.Millisecond)
}

// expiry is when what belongs to an attempt may go: from the first write on the same for
// all of it, so that no part of a log that lives can go before another. An attempt that
// waited long before it began has the time from then.
func (db *DB) expiry(attempt int64, at time.Time) int64 {
	end := madeAt(attempt).Add(db.lifetime)
	if other := at.Add(db.lifetime - maxAttempt); other.After(end) {
		end = other
	}
	return end.Unix()
}

// maxAttempt is the part of the lifetime that an attempt may run.
const maxAttempt = 7 * 24 * time.Hour

func (db *DB) expired(it item) bool {
	x := it.num(aExpiry)
	return x != 0 && x <= db.now().Unix()
}

// readBlob reads a part that was too large for its item.
func (db *DB) readBlob(ctx context.Context, key string) ([]byte, error) {
	r, _, err := db.blobs.Open(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", key, host.ErrUnavailable)
	}
	return b, nil
}
