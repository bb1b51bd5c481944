package embedded_test

import (
	"testing"
	"time"

	"zerodag/internal/embedded"
	"zerodag/internal/host"
)

// TestVitals proves that a server counts what its queues hold, and the bytes of its database and its disk.
func TestVitals(t *testing.T) {
	t.Parallel()
	e, err := embedded.Open(t.Context(), embedded.Options{Folder: t.TempDir(), Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	soon := time.Now().Add(time.Hour)
	for queue, ids := range map[string][]string{"events": {"a"}, "tasks": {"b", "c"}} {
		for _, id := range ids {
			if err := e.DB.Queue(queue).Send(t.Context(), host.Message{ID: id, Group: id, Body: []byte("{}"), Due: soon}); err != nil {
				t.Fatal(err)
			}
		}
	}
	v, err := e.Vitals(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if v.Events != 1 || v.Tasks != 2 || v.Unfinished != 0 || v.Database < 4096 || v.Free <= 0 {
		t.Errorf("got %+v", v)
	}
}
