// Package sessiontime parses the session times in requests, which are instants, local times, days or ranges of a
// backfill, and formats instants as responses do.
//
// Package catalogue calls it. It must never depend on which sessions exist.
package sessiontime
