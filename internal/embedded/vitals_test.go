package embedded_test

import (
	"fmt"
	"testing"
	"time"

	"zerodag/internal/embedded"
	"zerodag/internal/host"
)

// TestVitals proves that a server counts the messages in its queues that are due (not later ones), and the bytes of its
// database and its disk.
func TestVitals(t *testing.T) {
	t.Parallel()
	e, err := embedded.Open(t.Context(), embedded.Options{Folder: t.TempDir(), Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	later, past := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	for queue, due := range map[string][]time.Time{"events": {{}, later}, "tasks": {{}, past, later}} {
		for i, at := range due {
			if err := e.DB.Queue(queue).Send(t.Context(), host.Message{ID: fmt.Sprint(i), Group: fmt.Sprint(i), Body: []byte("{}"), Due: at}); err != nil {
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
