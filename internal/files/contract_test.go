package files

import (
	"testing"
	"time"

	"zerodag/internal/host/hosttest"
	"zerodag/internal/host/hosttest/suite"
	"zerodag/operators"
)

// TestContract runs the suites of the ports that files implement.
func TestContract(t *testing.T) {
	t.Parallel()
	harness := func(t *testing.T, run func(*testing.T, suite.Stores)) {
		blobs, err := NewBlobs(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		sites := []*ParamStore{1: NewParamStore(t.TempDir(), time.Now), 2: NewParamStore(t.TempDir(), time.Now), 3: NewParamStore(t.TempDir(), time.Now)}
		run(t, suite.Stores{Blobs: blobs, Logs: NewLogs(LogOptions{Folder: t.TempDir()}), Now: time.Now,
			ParamStore: func(site int64) operators.ParamStore { return sites[site] }}) // `run` has one site, and one store
	}
	hosttest.Exercise(t, hosttest.Driver{Stores: harness,
		Absent: hosttest.AllBut("files keep what is large, the rest is in a database (package sqlite)", "Blobs", "Logs", "ParamStore")})
}
