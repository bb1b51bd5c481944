package main

import (
	"fmt"
	"testing"

	"zerodag/internal/client"
)

// TestNoArchive checks that a download of a revision reports that its archive was removed, and that the message for a
// revision that never existed is Digdag's.
func TestNoArchive(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"message":"The archive of revision r2 was removed at 2026-02-03T04:05:06Z: it was older than what is kept","status":404}`: "The archive of revision r2 was removed at 2026-02-03T04:05:06Z: it was older than what is kept",
		`{"message":"Resource does not exist: revision name=r2","status":404}`:                                                      "Project archive of revision 'r2' does not exist.",
		"<html>": "Project archive of revision 'r2' does not exist.",
	} {
		err := noArchive("r2", fmt.Errorf("download: %w", &client.StatusError{Status: 404, Body: body}))
		if err.Error() != want {
			t.Errorf("%s: %q", body, err)
		}
	}
}
