// Package schedules serves everything that decides when work starts: schedules, backfills and pools, and the overview
// of running, late and upcoming work. It does not depend on other groups of endpoints.
package schedules
