package server

import (
	"zerodag/internal/httpapi/endpoint"
)

// Room serves these endpoints. It holds the state between two requests.
type Room struct {
	Metrics  *Metrics
	versions versionCheck
	probed   probed
}

// New creates the room. It returns an error if an option is invalid.
func New(o endpoint.Options) (*Room, error) {
	versions, err := newVersionCheck(o)
	if err != nil {
		return nil, err
	}
	return &Room{Metrics: NewMetrics(o.Now()), versions: versions}, nil
}
