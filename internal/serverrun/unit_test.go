//go:build unix

package serverrun

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zerodag/internal/systemd"
)

// TestUnit checks what systemd learns about a server: that it is ready, that it keeps answering its own probe, and that
// it stops.
func TestUnit(t *testing.T) {
	t.Parallel()
	folder, err := os.MkdirTemp("", "sd") // t.TempDir may be too long for the name of a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	socket := filepath.Join(folder, "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	await := func(want string) {
		t.Helper()
		for text := make([]byte, 1<<10); ; {
			manager.SetReadDeadline(time.Now().Add(time.Minute))
			n, err := manager.Read(text)
			if err != nil {
				t.Fatalf("systemd did not receive %q: %v", want, err)
			}
			if strings.HasPrefix(string(text[:n]), want) {
				return
			}
		}
	}
	config, _ := certified(t) // the certificate's name does not match the address: the watchdog still gets a response
	address, end := runningIn(t, systemd.New(socket, 1500*time.Millisecond), "", config)
	await("READY=1\nSTATUS=Serves requests on " + strings.TrimPrefix(address, "http://"))
	await("WATCHDOG=1")
	await("WATCHDOG=1")
	log, err := end()
	if err != nil {
		t.Error(err)
	}
	await("STOPPING=1")
	if strings.Contains(log, "probe") {
		t.Errorf("a probe failed:\n%s", log)
	}
}
