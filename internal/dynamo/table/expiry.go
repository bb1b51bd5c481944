package table

import "time"

// Expiry is when what belongs to an attempt may go: from the first write on the same for
// all of it, so that no part of a log that lives can go before another. An attempt that
// waited long before it began has the time from then.
func (t *Table) Expiry(attempt int64, at time.Time) int64 {
	end := madeAt(attempt).Add(t.lifetime)
	if other := at.Add(t.lifetime - maxAttempt); other.After(end) {
		end = other
	}
	return end.Unix()
}

// maxAttempt is the part of the lifetime that an attempt may run.
const maxAttempt = 7 * 24 * time.Hour

// Expired reports whether an item counts as gone, whether DynamoDB has deleted it or not.
func (t *Table) Expired(it Item) bool {
	x := it.Num(Expiry)
	return x != 0 && x <= t.Now().Unix()
}
