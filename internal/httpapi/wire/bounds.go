package wire

import (
	"time"
)

// Limit is one of the server's limits.
type Limit struct {
	Name    string  `json:"name"`
	About   string  `json:"about"`
	Setting *string `json:"setting"` // the setting that changes it; null: there is none
	Unit    string  `json:"unit"`    // of value and use: "seconds", "bytes", or the counted objects
	Value   *int64  `json:"value"`   // null: there is no limit
	Use     *int64  `json:"use"`     // its current use; null if that is expensive to read
}

// InSeconds returns a duration in whole seconds.
func InSeconds(d time.Duration) int64 { return int64(max(d, 0) / time.Second) }
