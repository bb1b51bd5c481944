package badprojects

import (
	"errors"
	"strings"
	"testing"
	"time"

	"zerodag/engine/dig"
)

// enough is far more time than any of these small files needs.
const enough = 30 * time.Second

func TestProjects(t *testing.T) {
	t.Parallel()
	projects, err := Load(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range projects {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			_, err := dig.Load(p.Read, p.Workflows)
			if spent := time.Since(start); spent > enough {
				t.Errorf("took %v", spent)
			}
			if p.Run {
				if err != nil {
					t.Errorf("must fail only when it runs: %v", err)
				}
				return
			}
			var list dig.Errors
			if !errors.As(err, &list) {
				t.Fatalf("accepted, or no error for a user: %v", err)
			}
			if len(list) != len(p.Want) {
				t.Fatalf("%d errors, want %d:\n%v", len(list), len(p.Want), err)
			}
			for i, want := range p.Want {
				if !strings.Contains(list[i].Error(), want) {
					t.Errorf("got  %s\nwant %s", list[i], want)
				}
			}
		})
	}
}

func TestCorpusIsLarge(t *testing.T) {
	t.Parallel()
	projects, err := Load(".")
	if err != nil {
		t.Fatal(err)
	}
	if len(projects) < 60 {
		t.Errorf("only %d projects", len(projects))
	}
}
