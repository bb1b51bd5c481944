// Package sessiontime parses the session times in requests: an instant, a local time, a day, or all those of a
// backfill.
//
// Package catalogue calls it. It must never depend on which sessions exist.
package sessiontime
