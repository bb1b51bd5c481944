package dynamo

import (
	"context"
	"errors"

	"zerodag/internal/dynamo/table"
	"zerodag/internal/host"
)

// How far each part of the ticks has progressed.
//
//	H#tick   R   row: a number for each host.Mark, by its name
func horizonKey() table.Key { return table.At("H#tick", table.Row) }

// horizon implements host.Horizon.
type horizon struct{ t *table.Table }

// Marks implements host.Horizon.
func (db *horizon) Marks(ctx context.Context) (map[host.Mark]int64, error) {
	it, err := db.t.Get(ctx, horizonKey())
	if err != nil {
		return nil, err
	}
	marks := map[host.Mark]int64{}
	for _, m := range []host.Mark{host.Handed, host.Overdue, host.Sweeping, host.Swept, host.Redriven, host.Forgetting, host.Forgot,
		host.ForgettingArchives, host.ForgotArchives, host.ForgettingRecords, host.ForgotRecords} {
		marks[m] = it.Num(string(m))
	}
	return marks, nil
}

// Move implements host.Horizon.
func (db *horizon) Move(ctx context.Context, m host.Mark, from, to int64) error {
	name := string(m)
	when := table.Where{Text: "#" + name + " = :from", Names: []string{name}, Values: table.Item{":from": table.Number(from)}}
	if from == 0 {
		when.Text = "attribute_not_exists(#" + name + ") OR " + when.Text
	}
	_, err := db.t.Update(ctx, horizonKey(), table.Where{Text: "SET #" + name + " = :to", Names: []string{name}, Values: table.Item{":to": table.Number(to)}}, when)
	if errors.Is(err, table.ErrCondition) {
		return nil
	}
	return err
}
