package wire

import (
	"zerodag/internal/host"
)

// Record is an entry in the audit log.
type Record struct {
	ID     ID      `json:"id"`
	At     Moment  `json:"at"`
	Who    string  `json:"who"`
	Action string  `json:"action"`
	Target string  `json:"target"`
	Detail *string `json:"detail"`
	// Refused means that the change was not made.
	Refused bool    `json:"refused"`
	Address *string `json:"address"`
	With    *string `json:"with"`
	Request *string `json:"request"`
}

// RecordOf shows an audit log entry.
func RecordOf(r host.Record) Record {
	return Record{ID(r.ID), Moment(r.At), r.Who, r.Action, r.Target, TextOrNull(r.Detail),
		r.Refused, TextOrNull(r.Address), TextOrNull(r.With), TextOrNull(r.Request)}
}
