package main

import (
	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/cmd/zerodag/internal/contexts"
	"zerodag/cmd/zerodag/internal/operate"
	"zerodag/cmd/zerodag/internal/transfer"
)

// clientCommands returns the commands that talk to a server.
func clientCommands(s cli.Streams) []*cobra.Command {
	return []*cobra.Command{
		newProjects(s), newWorkflows(s), newStart(s), newRetry(s), newFork(s), newKill(s), newPause(s), newUnpause(s), newDelete(s),
		newStatus(s), newWatch(s), newSessions(s), newAttempts(s), newAttempt(s), newTasks(s),
		newSchedules(s), newReschedule(s), newBackfill(s), newEnable(s), newDisable(s),
		newPush(s), newUpload(s), newArchive(s), newDownload(s), newLog(s), operate.NewSecrets(s), transfer.NewImport(s), newTokens(s), operate.NewPool(s), operate.NewAdmin(s), operate.NewAlert(s), newWhoami(s), newVersion(s), contexts.New(s),
	}
}

// newTokens returns the commands for tokens: commands that call a server, and the command for a server whose owners are
// all locked out.
func newTokens(s cli.Streams) *cobra.Command {
	c := operate.NewTokens(s)
	c.AddCommand(transfer.NewRecover(s))
	return c
}

// remote is a command of this package that talks to a server.
type remote struct{ cli.Remote }
