package table

import "time"

// Expiry returns when an attempt's data may be deleted. The time is set by the first write and is the same for all
// parts, so that no part of a live log can be deleted before another. For an attempt that waited for a long time before
// it began, the time counts from its beginning.
func (t *Table) Expiry(attempt int64, at time.Time) int64 {
	end := madeAt(attempt).Add(t.lifetime)
	if other := at.Add(t.lifetime - maxAttempt); other.After(end) {
		end = other
	}
	return end.Unix()
}

// maxAttempt is the part of the lifetime during which an attempt may run.
const maxAttempt = 7 * 24 * time.Hour

// Expired reports whether an item counts as gone, whether DynamoDB has deleted it or not.
func (t *Table) Expired(it Item) bool {
	x := it.Num(Expiry)
	return x != 0 && x <= t.Now().Unix()
}
