// Package schedules serves what decides when work starts: schedules, backfills and pools, and the overview of what
// runs, is late and comes next. It knows no other room of endpoints.
package schedules
