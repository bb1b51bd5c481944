package sandbox

import (
	"context"
	"fmt"
	"sync"
	"time"

	"zerodag/internal/host"
)

// earlierID is the length of the IDs that the release before this one gave to its runners.
const earlierID = 12

// Earlier says that the runner was made by the release before this one. Its row is in another
// place, its token is not signed, and its program gives up after 30 seconds. One release
// later there are none.
func (p Place) Earlier() bool { return len(p.ID) == earlierID }

func (r Runner) earlier() bool { return len(r.ID) == earlierID }

// earlier are the runners of the release before, as they were listed a moment ago. Nobody can
// have them listed more often: their tokens are checked against this list before a row is read.
type earlier struct {
	mu     sync.Mutex
	listed time.Time
	hashes map[string][]byte // of their secrets, by name
}

// earlierKept is how long the list is believed: the programs of that release give up after 30 s
// without a word.
const earlierKept = 5 * time.Second

// checkEarlier is Keyring.check for a token of the release before.
func (s *Service) checkEarlier(ctx context.Context, t token) error {
	e := &s.earlier
	e.mu.Lock()
	defer e.mu.Unlock()
	young := !e.listed.IsZero() && s.Now().Sub(e.listed) < earlierKept
	if _, found := e.hashes[t.name]; !found && !young {
		list, err := s.Runners.Earlier(ctx)
		if err != nil {
			return fmt.Errorf("read runners of the release before: %w", err)
		}
		e.hashes, e.listed, young = map[string][]byte{}, s.Now(), false
		for _, r := range list {
			e.hashes[r.Name()] = r.Hash
		}
	}
	hash, found := e.hashes[t.name]
	switch {
	case !found && young:
		return fmt.Errorf("runners of the release before were listed a moment ago: %w", host.ErrUnavailable)
	case !found || !(Runner{Hash: hash}).accepts(t.secret):
		return ErrGone
	}
	return nil
}
