package localrun

import (
	"errors"
	"fmt"
	"time"

	"zerodag/internal/files"
	"zerodag/internal/host"
	"zerodag/operators"
)

// keptLog writes to a task's log file and to the run's view.
type keptLog struct {
	operators.Log
	file host.TaskLog
}

func newKeptLog(logs *files.Logs, id operators.Identity, log operators.Log) operators.Log {
	return keptLog{log, logs.Open(id, time.Now())}
}

func (l keptLog) Write(p []byte) (int, error) {
	_, kept := l.file.Write(p)
	n, err := l.Log.Write(p)
	return n, errors.Join(kept, err)
}

func (l keptLog) Echo(message string) {
	l.file.Echo(message)
	l.Log.Echo(message)
}

func (l keptLog) Line(level operators.Level, logger, message string) {
	l.file.Line(level, logger, message)
	l.Log.Line(level, logger, message)
}

// Close closes the file; the host calls it when the run has ended. Errors are shown but do not fail the task.
func (l keptLog) Close() error {
	err := l.file.Close()
	if err != nil {
		l.Log.Line(operators.Error, "OperatorManager", fmt.Sprintf("the task's log could not be stored: %v", err))
	}
	return err
}
