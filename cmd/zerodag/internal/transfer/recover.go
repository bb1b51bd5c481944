package transfer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/configuration"
	"zerodag/internal/embedded"
	"zerodag/internal/host"
	"zerodag/internal/httpapi/access"
	"zerodag/internal/postgres"
	"zerodag/internal/program"
	"zerodag/internal/serverconfig"
)

// NewRecover returns the command that creates an owner token without asking the server, for a server whose owners have
// locked themselves out: anyone who may write its database effectively owns it.
func NewRecover(s cli.Streams) *cobra.Command {
	r := &recovery{Streams: s}
	c := &cobra.Command{Use: "recover", Short: "Create an owner token in the database of a server that no one can manage any more",
		Long: `Create a token of the role owner directly in the database of a server, if all owner tokens
are lost, expired or revoked. Run it on the server's machine as the server's user, with the
server's configuration (-c) or the folder of its data (-o). Stop the server first, unless its
database is PostgreSQL. The token is shown once; the audit log records that it was created.`}
	c.Flags().StringVarP(&r.folder, "database", "o", "", "`DIR` of the server's data")
	r.Register(c.Flags())
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return cli.WrongCount(cmd, s, args, 0)
		}
		return r.run(cmd.Context())
	}
	return c
}

type recovery struct {
	configuration.Flags
	cli.Streams
	folder string
}

// accounts is the part of a database that holds tokens.
type accounts interface {
	host.Users
	host.Audit
	Close() error
}

func (r *recovery) run(ctx context.Context) error {
	db, err := r.open(ctx)
	if err != nil {
		return err
	}
	text, hash := access.NewToken()
	now := time.Now().UTC()
	t, err := db.Create(ctx, host.Token{Name: "recovered owner", Role: access.Owner.String(), Hash: hash, CreatedAt: now})
	if err == nil {
		err = db.Record(ctx, host.Record{At: now, Who: "tokens recover", Action: "create token", Target: fmt.Sprintf("token %d %s", t.ID, t.Name), Detail: "in the database, without the server"})
	}
	if err = errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("create an owner token: %w", err)
	}
	fmt.Fprintln(r.Out, text)
	fmt.Fprintln(r.Err, "The token is shown only now. Use it with --token, or in the environment variable ZERODAG_TOKEN.")
	return nil
}

// open opens the database that the options name.
func (r *recovery) open(ctx context.Context) (accounts, error) {
	folder := r.folder
	if folder == "" {
		settings, err := r.Load()
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(settings["database.type"]) == configuration.PostgreSQL {
			reading := settings.Reading()
			o, err := serverconfig.Database(reading)
			if err = errors.Join(err, reading.Err); err != nil {
				return nil, err
			}
			return postgres.Open(ctx, o)
		}
		folder = settings["database.path"]
	}
	if folder == "" {
		return nil, program.UsageError(errors.New("--database DIR or --config FILE is required"))
	}
	db := embedded.DatabaseIn(folder)
	if !db.Exists {
		return nil, fmt.Errorf("folder %s holds no database: name the folder of the server's data", folder)
	}
	return db.Open(ctx)
}
