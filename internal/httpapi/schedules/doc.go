// Package schedules serves everything that decides when work starts: schedules, backfills and pools, and the overview
// of running, late and upcoming work. It knows none of the other groups of endpoints.
package schedules
