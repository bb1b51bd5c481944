package process_test

import (
	"testing"
	"time"

	"zerodag/internal/executors/executorstest"
	"zerodag/internal/process"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	executorstest.Exercise(t, executorstest.Subject{In: process.New(process.Options{Grace: 100 * time.Millisecond}).In})
}
