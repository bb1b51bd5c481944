package dynamo

import (
	"context"
	"errors"
	"time"

	"zerodag/internal/host"
)

// How far the parts of ticks have come.
//
//	H#tick   R   row: a number for each host.Mark, by its name
func horizonKey() key { return key{"H#tick", row} }

// Marks implements host.Horizon.
func (db *DB) Marks(ctx context.Context) (map[host.Mark]int64, error) {
	it, err := db.get(ctx, horizonKey())
	if err != nil {
		return nil, err
	}
	marks := map[host.Mark]int64{}
	for _, m := range []host.Mark{host.Handed, host.Overdue, host.Sweeping, host.Swept, host.Redriven, host.Forgetting, host.Forgot,
		host.ForgettingArchives, host.ForgotArchives, host.ForgettingRecords, host.ForgotRecords} {
		marks[m] = it.num(string(m))
	}
	return marks, nil
}

// Move implements host.Horizon.
func (db *DB) Move(ctx context.Context, m host.Mark, from, to int64) error {
	name := string(m)
	when := where{text: "#" + name + " = :from", names: []string{name}, values: item{":from": number(from)}}
	if from == 0 {
		when.text = "attribute_not_exists(#" + name + ") OR " + when.text
	}
	_, err := db.update(ctx, horizonKey(), where{text: "SET #" + name + " = :to", names: []string{name}, values: item{":to": number(to)}}, when)
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
