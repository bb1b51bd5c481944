package main

import (
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"zerodag/operators"
)

// taskLogs keeps the logs of tasks as files, named as the original names them (spec
// engine.md 2.13).
type taskLogs struct {
	dir   string
	agent string
}

func newTaskLogs(dir string) *taskLogs {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return &taskLogs{dir: dir, agent: fmt.Sprintf("%d@%s", os.Getpid(), host)}
}

// of returns a log that writes to a file of its own as well as to log.
func (l *taskLogs) of(id operators.Identity, log operators.Log) operators.Log {
	session := id.SessionTime.Format(sessionForm)
	if id.RetryAttemptName != "" {
		session += "_" + id.RetryAttemptName
	}
	now := time.Now()
	return &taskFile{Log: log, thread: threadName(id), name: filepath.Join(l.dir, now.UTC().Format("2006-01-02"),
		fmt.Sprintf("%d.%d%s@%s", id.SiteID, id.ProjectID, fileName(id.Workflow), session),
		fmt.Sprintf("%s@%08x%08x.%s.log.gz", fileName(id.TaskName), now.Unix(), now.Nanosecond(), l.agent))}
}

// taskFile is one run's log file; it is made by the first line.
type taskFile struct {
	operators.Log
	name   string
	thread string

	mu     sync.Mutex
	file   *os.File
	zip    *gzip.Writer
	failed error
}

func (f *taskFile) Write(p []byte) (int, error) {
	f.keep(string(p))
	return f.Log.Write(p)
}

func (f *taskFile) Echo(message string) {
	f.keep(message)
	f.Log.Echo(message)
}

func (f *taskFile) Line(level operators.Level, logger, message string) {
	f.keep(logLine(level, f.thread, loggerName(logger), message))
	f.Log.Line(level, logger, message)
}

func (f *taskFile) keep(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed != nil {
		return
	}
	if f.zip == nil {
		if f.failed = f.open(); f.failed != nil {
			f.Log.Line(operators.Error, "OperatorManager", fmt.Sprintf("the task's log is not kept: %v", f.failed))
			return
		}
	}
	_, f.failed = f.zip.Write([]byte(text))
}

func (f *taskFile) open() error {
	if err := os.MkdirAll(filepath.Dir(f.name), 0o755); err != nil {
		return err
	}
	file, err := os.Create(f.name)
	if err != nil {
		return err
	}
	f.file = file
	f.zip, err = gzip.NewWriterLevel(file, gzip.BestCompression)
	return err
}

// Close ends the file; the host calls it when the run is over.
func (f *taskFile) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.zip == nil {
		return f.failed
	}
	return errors.Join(f.failed, f.zip.Close(), f.file.Close())
}
