package main

import (
	"context"
	"time"

	"zerodag/engine/dig"
	"zerodag/internal/client"
)

// What is read of a server to say where a task is written: a reader waits for it.
const (
	mostPlaced = 20 // files
	placeTime  = 5 * time.Second
)

// place says of the first failures of an attempt where their tasks are written, by the files of its revision. A
// server that does not hand them out, and a file that is gone or too large, leave it out.
func (r *remote) place(ctx context.Context, a client.Attempt, failed []failure) {
	if a.Workflow.ID == "" || len(failed) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, placeTime)
	defer cancel()
	w, err := r.Definition(ctx, a.Workflow.ID)
	if err != nil || w.Revision == "" {
		return
	}
	files, gone := map[string]string{}, map[string]bool{}
	missing := false // nothing of this revision can be read
	source := func(name string) ([]byte, error) {
		text, known := files[name]
		if !known && (missing || gone[name] || len(files) >= mostPlaced) {
			return nil, dig.ErrNotFound
		}
		if !known {
			var found bool
			if text, found, err = r.FileText(ctx, a.Project.ID, w.Revision, name); err != nil || !found {
				missing, gone[name] = missing || len(files) == 0, true
				return nil, dig.ErrNotFound
			}
			files[name] = text
		}
		return []byte(text), nil
	}
	for i := range min(len(failed), mostFailures) {
		if at, found := dig.Find(source, w.Name+".dig", failed[i].task.FullName, failed[i].message); found {
			failed[i].place = at.String()
		}
		failed[i].names = dig.Names(source, w.Name+".dig", failed[i].task.FullName)
	}
}
