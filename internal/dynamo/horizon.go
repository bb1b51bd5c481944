package dynamo

import (
	"context"
	"errors"
	"time"
)

// Up to when the tick has handed over what is due.
//
//	H#tick   R   row
const aHorizon = "to"

func horizonKey() key { return key{"H#tick", row} }

// Horizon is up to when a tick handed over what is due; zero before the first.
func (db *DB) Horizon(ctx context.Context) (time.Time, error) {
	it, err := db.get(ctx, horizonKey())
	if err != nil || it == nil {
		return time.Time{}, err
	}
	return it.time(aHorizon), nil
}

// MoveHorizon notes that all that is due until then was handed over. It never goes back:
// of two ticks side by side the later one counts.
func (db *DB) MoveHorizon(ctx context.Context, to time.Time) error {
	_, err := db.update(ctx, horizonKey(), where{text: "SET #to = :to", names: []string{aHorizon}, values: item{":to": micros(to)}},
		where{text: "attribute_not_exists(#to) OR #to < :to", names: []string{aHorizon}, values: item{":to": micros(to)}})
	if errors.Is(err, errCondition) {
		return nil
	}
	return err
}

// idAt is the least id of what is made from a time on.
func idAt(t time.Time) int64 {
	if t.Before(epoch) {
		return 0
	}
	return t.Sub(epoch).Milliseconds() << randomBits
}
