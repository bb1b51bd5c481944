package wire

import (
	"encoding/json"

	"zerodag/internal/host"
)

// Past is a stored entry of an attempt's log: when it was written, and the events in it.
type Past struct {
	Seq    int64           `json:"seq"`
	At     Moment          `json:"at"`
	Events json.RawMessage `json:"events"`
}

// PastOf shows a stored entry.
func PastOf(e host.Entry) Past {
	r := Past{Seq: e.Seq, At: Moment(e.At), Events: e.Events}
	if len(e.Events) == 0 {
		r.Events = json.RawMessage("[]")
	}
	return r
}
