package wire

import (
	"time"
)

// Limit is a number that bounds what the server does.
type Limit struct {
	Name    string  `json:"name"`
	About   string  `json:"about"`
	Setting *string `json:"setting"` // that changes it; null: nothing does
	Unit    string  `json:"unit"`    // of value and use: "seconds", "bytes", or what is counted
	Value   *int64  `json:"value"`   // null: there is no bound
	Use     *int64  `json:"use"`     // of it now; null where that is not one cheap look
}

// InSeconds returns a duration in whole seconds.
func InSeconds(d time.Duration) int64 { return int64(max(d, 0) / time.Second) }
