package server

import (
	"time"

	"zerodag/internal/httpapi/endpoint"
)

// Room serves these endpoints. It holds the state between two requests.
type Room struct {
	since    time.Time // when the process began to serve
	versions versionCheck
	probed   probed
}

// New creates the room. It returns an error if an option is invalid.
func New(o endpoint.Options) (*Room, error) {
	versions, err := newVersionCheck(o)
	if err != nil {
		return nil, err
	}
	return &Room{since: o.Now(), versions: versions}, nil
}
