package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"zerodag/internal/embedded"
	"zerodag/internal/sqlite"
)

// newMigrate brings the database of a server that does not run up to date, or says what
// is pending.
func newMigrate(s streams) *cobra.Command {
	m := &migrate{streams: s}
	c := &cobra.Command{Use: "migrate run|check", Short: "Bring a database up to date, or say what is pending", ValidArgs: []string{"run", "check"}}
	c.Flags().StringVarP(&m.folder, "database", "o", "", "`DIR` of the server's data")
	c.Flags().BoolVar(&m.acceptLocal, "accept-local", false, acceptLocalUsage)
	m.register(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) != 1:
			return wrongCount(cmd, s, args, 1)
		case args[0] != "run" && args[0] != "check":
			return usageError{errors.New("Invalid command")}
		}
		banner(s.err)
		return m.run(cmd.Context(), args[0] == "run")
	}
	return c
}

type migrate struct {
	commonFlags
	streams
	folder      string
	acceptLocal bool
}

func (m *migrate) run(ctx context.Context, apply bool) error {
	folder := m.folder
	if folder == "" {
		settings, err := m.load()
		if err != nil {
			return err
		}
		if err := settings.stayHere(m.acceptLocal, "database.type"); err != nil {
			return err
		}
		if folder = settings["database.path"]; folder == "" {
			if m.config != "" && !asDigdag() {
				return fmt.Errorf("%s has no database.path: name the folder of the server's data there, or with --database DIR", m.config)
			}
			return usageError{errors.New("--database, or --config option is required")}
		}
	}
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) && !apply && !asDigdag() {
		return fmt.Errorf("there is no folder %s: name the one of the server's data", folder)
	}
	path := filepath.Join(folder, embedded.DatabaseName)
	_, err := os.Stat(path)
	made := errors.Is(err, fs.ErrNotExist)
	if made && !apply {
		fmt.Fprintln(m.out, "No table exist")
		return nil
	}
	list, err := sqlite.Pending(ctx, path)
	switch {
	case err != nil:
		return err
	case len(list) == 0:
		fmt.Fprintln(m.out, "No update")
		return nil
	case !apply:
		for _, version := range list {
			fmt.Fprintln(m.out, version)
		}
		return nil
	}
	if _, err := sqlite.Migrate(ctx, path); err != nil {
		return err
	}
	fmt.Fprintln(m.out, "Migrations successfully finished")
	if made && !asDigdag() {
		fmt.Fprintln(m.err, "There was no database in this folder: "+path+" is a new one.")
	}
	return nil
}
