// Package trace turns a finished attempt into spans: one trace for the attempt, one span for the attempt and one for
// each of its tasks that ran. IDs are derived from the attempt, so that an attempt always has the same trace.
package trace
