package sql

import (
	"net"
	"testing"
	"time"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/operatortest/postgres"
)

// TestNothingOfTheAgent checks that a task takes no settings from the environment, from which the library would read
// them.
func TestNothingOfTheAgent(t *testing.T) {
	t.Parallel()
	s := postgres.Start(t)
	at := &Server{host: "127.0.0.1", port: uint16(s.Port), user: postgres.User, database: postgres.Database, connectTime: time.Minute, network: &net.Dialer{}, hide: hiding(nil)}
	session, err := at.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for name, want := range map[string]string{"client_encoding": "UTF8", "DateStyle": "ISO, MDY", "TimeZone": "UTC", "session_authorization": postgres.User} {
		if got := session.conn.ParameterStatus(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestLongestWait(t *testing.T) {
	t.Parallel()
	if next := again(param.New(WaitKey, int64(1200)), nil).(*operators.Later); next.After != 20*time.Minute || param.Text(next.State) != `{"pollInterval":1200}` {
		t.Errorf("the longest wait: %v, then %s", next.After, param.Text(next.State))
	}
}
