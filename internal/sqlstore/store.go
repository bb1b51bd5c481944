package sqlstore

import (
	"context"
	"fmt"
	"time"

	"zerodag/internal/aesgcm"
	"zerodag/internal/host"
)

// Driver reads from a database and commits to it. It may run the given functions more than once.
type Driver interface {
	// Read runs statements that change nothing. They see every acknowledged change.
	Read(ctx context.Context, run func(Conn) error) error
	// Write commits everything that run does, or nothing.
	Write(ctx context.Context, run func(Conn) error) error
	// Acknowledge is Write for changes that are acknowledged to a user: the commit survives a power loss.
	Acknowledge(ctx context.Context, run func(Conn) error) error
	// Note makes a change that may be lost. It does not wait for the commit if the driver can commit it later.
	Note(ctx context.Context, run func(Conn) error)
	// Send is Acknowledge for a transaction that begins attempts.
	Send(ctx context.Context, run func(Conn, Begin) error) error
	// EraseLog deletes the log of an attempt and records that the attempt has none.
	EraseLog(c Conn, attempt int64) error
}

// Begin writes entry 1 of an attempt and sends its first message to the event queue, as part of a transaction. known
// reports whether the attempt existed before the transaction.
type Begin func(attempt int64, known bool, first host.Entry, m host.Message) error

// Options configures a Store.
type Options struct {
	Now  func() time.Time
	UUID func() string // creates the UUIDs of new sessions; nil means random UUIDs
	// SecretKeys encrypt and decrypt secrets; without any, secrets can be neither stored nor read.
	SecretKeys aesgcm.Keys
	// Schema is the newest schema version that this program knows.
	Schema int
}

// Store implements the ports that both databases have in common. It implements host.Projects, host.Workflows,
// host.Schedules, host.Attempts, host.Sessions, host.Retention, host.Secrets, host.Users, host.Audit, host.Pools,
// host.Semaphore, host.Backfills, host.Outbox and host.Servers, and all of host.Log except Append. It is safe for concurrent use.
type Store struct {
	driver  Driver
	dialect Dialect
	texts   texts
	now     func() time.Time
	uuid    func() string
	keys    aesgcm.Keys
	schema  int
}

// New returns a Store, which uses the driver only when its methods are called.
func New(d Driver, words Dialect, o Options) (*Store, error) {
	if err := o.SecretKeys.Check(); err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if o.UUID == nil {
		o.UUID = host.NewUUID
	}
	return &Store{driver: d, dialect: words, texts: textsOf(words), now: o.Now, uuid: o.UUID, keys: o.SecretKeys, schema: o.Schema}, nil
}

// tries limits how many times a transaction looks for a row that others insert and delete.
const tries = 8

// tx is a transaction.
type tx struct {
	Conn
	*Store
}

func (s *Store) write(ctx context.Context, run func(tx) error) error {
	return s.driver.Write(ctx, func(c Conn) error { return run(tx{c, s}) })
}

func (s *Store) acknowledge(ctx context.Context, run func(tx) error) error {
	return s.driver.Acknowledge(ctx, func(c Conn) error { return run(tx{c, s}) })
}
