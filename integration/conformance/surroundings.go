package conformance

import (
	"testing"
	"time"

	"zerodag/internal/files"
	"zerodag/operators"
)

// Surroundings holds the services that cases use: a web server, a mail server, a parameter store and a database.
type Surroundings struct {
	web      *webPeer
	mail     *mailPeer
	store    operators.ParamStore
	database databasePeer
}

// NewSurroundings starts the servers, which end with the test.
func NewSurroundings(t testing.TB) *Surroundings {
	return &Surroundings{newWebPeer(t), newMailPeer(t), files.NewParamStore(t.TempDir(), time.Now), newDatabasePeer(t)}
}

// NewCase returns a case of the project in a folder, with the default settings.
func NewCase(dir string) Case {
	return Case{Dir: dir, Workflow: "main", SessionTime: defaultSession, TimeLimit: 60}
}

// RunIn carries out a case and returns what happened, described as in the recordings.
func (c Case) RunIn(t testing.TB, s *Surroundings) map[string]any {
	return c.Run(t, s)
}

// UserLines returns the output of an attempt's commands and echo>, by task.
func UserLines(attempt map[string]any) map[string]any { return asObject(userLines(attempt)) }
