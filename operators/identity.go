package operators

import (
	"crypto/sha256"
	"fmt"
	"time"
)

// TimeForm is the form of session times in variables.
const TimeForm = "2006-01-02T15:04:05-07:00"

// FormatTime writes a session time as the language shows it; UTC is "+00:00".
func FormatTime(t time.Time) string { return t.Format(TimeForm) }

// Derived makes a name in the form of a random UUID out of what identifies it. Operators
// take it for a random name: the same when a run is delivered twice, else never again.
func Derived(from ...any) string {
	sum := sha256.Sum256([]byte(fmt.Sprintln(from...)))
	sum[6] = sum[6]&0x0f | 0x80 // version 8: made by a rule of our own
	sum[8] = sum[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
