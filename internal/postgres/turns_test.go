package postgres

import (
	"sync"
	"testing"

	"zerodag/internal/host"
)

// testTurns proves that one site's requests never have more than half of the connections, so that requests from another
// site and the server's own work are served in the meantime, and that all requests are served in the end.
func testTurns(t *testing.T, l *lab) {
	l.enter(t)
	o := l.options()
	o.Connections = 5 // one of them listens
	db, ctx := open(t, o), t.Context()
	busy := host.WithSite(ctx, 1)
	entered, release := make(chan struct{}), make(chan struct{})
	const calls = 10
	var all sync.WaitGroup
	for i := range calls {
		all.Go(func() {
			call := db.read
			if i%2 == 0 {
				call = db.write
			}
			if err := call(busy, func(*conn) error {
				entered <- struct{}{}
				<-release
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
	<-entered
	<-entered
	for range 3 { // with the other half of the connections
		for _, other := range []func() error{
			func() error { return db.read(host.WithSite(ctx, 2), func(*conn) error { return nil }) },
			func() error { return db.write(host.WithSite(ctx, 3), func(*conn) error { return nil }) },
			func() error { return db.read(ctx, func(*conn) error { return nil }) },
		} {
			if err := other(); err != nil {
				t.Error(err)
			}
		}
	}
	select {
	case <-entered:
		t.Error("one site has more than half of the connections")
	default:
	}
	close(release)
	for range calls - 2 {
		<-entered
	}
	all.Wait()
}
