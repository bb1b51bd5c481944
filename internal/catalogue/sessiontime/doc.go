// Package sessiontime reads the session times that requests name: an instant, a local time or a day, and all those of a
// backfill.
//
// Package catalogue calls it. It must never depend on which sessions exist.
package sessiontime
