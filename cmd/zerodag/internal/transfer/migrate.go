package transfer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/configuration"
	"zerodag/internal/embedded"
	"zerodag/internal/postgres"
	"zerodag/internal/program"
	"zerodag/internal/serverconfig"
)

// NewMigrate returns the command that migrates the database of a stopped server, or shows pending migrations.
func NewMigrate(s cli.Streams) *cobra.Command {
	m := &migrate{Streams: s}
	c := &cobra.Command{Use: "migrate run|check", Short: "Migrate a database, or show pending migrations", ValidArgs: []string{"run", "check"}}
	c.Flags().StringVarP(&m.folder, "database", "o", "", "`DIR` of the server's data")
	c.Flags().BoolVar(&m.acceptLocal, "accept-local", false, configuration.AcceptLocalUsage)
	m.Register(c.Flags())
	c.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) != 1:
			return cli.WrongCount(cmd, s, args, 1)
		case args[0] != "run" && args[0] != "check":
			return program.UsageError(errors.New("Invalid command"))
		}
		s.Banner()
		return m.run(cmd.Context(), args[0] == "run")
	}
	return c
}

type migrate struct {
	configuration.Flags
	cli.Streams
	folder      string
	acceptLocal bool
}

func (m *migrate) run(ctx context.Context, apply bool) error {
	if m.folder != "" {
		return m.local(ctx, m.folder, apply)
	}
	settings, err := m.Load()
	if err != nil {
		return err
	}
	if strings.TrimSpace(settings["database.type"]) == configuration.PostgreSQL {
		return m.shared(ctx, settings, apply)
	}
	if err := settings.StayHere(m.acceptLocal, false, "database.type"); err != nil {
		return err
	}
	folder := settings["database.path"]
	switch {
	case folder != "":
		return m.local(ctx, folder, apply)
	case m.Config != "" && !program.AsDigdag():
		return fmt.Errorf("%s has no database.path: set it to the folder of the server's data, or use --database DIR", m.Config)
	}
	return program.UsageError(errors.New("--database, or --config option is required"))
}

// local runs the command for the database in a folder.
func (m *migrate) local(ctx context.Context, folder string, apply bool) error {
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) && !apply && !program.AsDigdag() {
		return fmt.Errorf("folder %s does not exist: name the folder of the server's data", folder)
	}
	db := embedded.DatabaseIn(folder)
	if !db.Exists && !apply {
		fmt.Fprintln(m.Out, "No table exist")
		return nil
	}
	list, err := db.Pending(ctx)
	if err != nil {
		return err
	}
	done, err := m.apply(list, apply, func() error { return db.Migrate(ctx) })
	if err != nil || !done {
		return err
	}
	if !db.Exists && !program.AsDigdag() {
		fmt.Fprintln(m.Err, "There was no database in this folder, so a new one was created: "+db.Path)
	}
	return nil
}

// apply shows pending migrations, or applies them; done reports that something was done.
func (m *migrate) apply(pending []string, apply bool, do func() error) (done bool, err error) {
	switch {
	case len(pending) == 0:
		fmt.Fprintln(m.Out, "No update")
		return false, nil
	case !apply:
		for _, version := range pending {
			fmt.Fprintln(m.Out, version)
		}
		return false, nil
	}
	if err := do(); err != nil {
		return false, err
	}
	fmt.Fprintln(m.Out, "Migrations successfully finished")
	return true, nil
}

// shared runs the command for the database of several servers, which may be running.
func (m *migrate) shared(ctx context.Context, s configuration.Settings, apply bool) error {
	r := s.Reading()
	o, err := serverconfig.Database(r)
	if err = errors.Join(err, r.Err); err != nil {
		return err
	}
	pending, err := postgres.Pending(ctx, o)
	if err != nil {
		return err
	}
	_, err = m.apply(pending, apply, func() error {
		_, err := postgres.Migrate(ctx, o)
		return err
	})
	return err
}
