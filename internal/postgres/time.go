package postgres

import (
	"context"
	"time"

	"zerodag/internal/sqlstore"
)

// Time returns the time of the database.
func (db *DB) Time(ctx context.Context) (time.Time, error) {
	return sqlstore.ReadOne(ctx, db.Store, func(r *row) time.Time { return time.UnixMicro(r.ID()).UTC() }, sqlstore.Select("SELECT "+clock))
}
