package server

import (
	"zerodag/internal/httpapi/endpoint"
)

// Room serves these endpoints. It has the state between two requests.
type Room struct {
	Metrics  *Metrics
	versions versionCheck
	probed   probed
}

// New makes the room. It fails when an option cannot be read.
func New(o endpoint.Options) (*Room, error) {
	versions, err := newVersionCheck(o)
	if err != nil {
		return nil, err
	}
	return &Room{Metrics: NewMetrics(o.Now()), versions: versions}, nil
}
