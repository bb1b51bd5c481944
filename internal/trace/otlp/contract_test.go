package otlp_test

import (
	"testing"

	"zerodag/internal/host"
	"zerodag/internal/host/hosttest"
	"zerodag/internal/host/hosttest/suite"
	"zerodag/internal/trace/otlp"
)

var _ host.Tracer = (*otlp.Exporter)(nil)

// TestContract proves that an Exporter is a host.Tracer.
func TestContract(t *testing.T) {
	t.Parallel()
	hosttest.Exercise(t, hosttest.Driver{Absent: hosttest.AllBut("a trace is sent and not kept", "Tracer"), Stores: func(t *testing.T, run func(*testing.T, suite.Stores)) {
		c, url := start(t)
		run(t, suite.Stores{Tracer: quick(otlp.Options{URL: url}), Traced: func(*testing.T) []string {
			var ids []string
			for _, s := range c.spans {
				ids = append(ids, s.TraceID().String())
			}
			return ids
		}})
	}})
}
