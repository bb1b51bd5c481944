package wire

import (
	"zerodag/internal/host"
)

// Record is an entry of the audit log.
type Record struct {
	ID     ID      `json:"id"`
	At     Moment  `json:"at"`
	Who    string  `json:"who"`
	Action string  `json:"action"`
	Target string  `json:"target"`
	Detail *string `json:"detail"`
}

// RecordOf shows an entry of the audit log.
func RecordOf(r host.Record) Record {
	return Record{ID(r.ID), Moment(r.At), r.Who, r.Action, r.Target, TextOrNull(r.Detail)}
}
