package conformance

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"zerodag/operators/operatortest/postgres"
)

// recordedPort is the port of the database in the recorded cases, whose files contain it.
const recordedPort = 65450

// databasePeer is the port of the PostgreSQL server that recorded workflows use, with the users and databases that they
// expect, or 0 if none is installed.
type databasePeer int

func newDatabasePeer(t testing.TB) databasePeer {
	if postgres.Missing() != nil {
		return 0
	}
	return databasePeer(postgres.Start(t).Port)
}

// here replaces the recorded port in a project file with the server's port.
func (d databasePeer) here(content []byte) []byte {
	if d == 0 {
		return content
	}
	return bytes.ReplaceAll(content, []byte("port: "+strconv.Itoa(recordedPort)), []byte("port: "+strconv.Itoa(int(d))))
}

// recorded replaces the server's port in a result with the recorded one.
func (d databasePeer) recorded(text string) string {
	if d == 0 {
		return text
	}
	return strings.ReplaceAll(text, "127.0.0.1:"+strconv.Itoa(int(d)), "127.0.0.1:"+strconv.Itoa(recordedPort))
}

// recordedNumber is like recorded for a number.
func (d databasePeer) recordedNumber(n float64) float64 {
	if d != 0 && n == float64(d) {
		return recordedPort
	}
	return n
}
