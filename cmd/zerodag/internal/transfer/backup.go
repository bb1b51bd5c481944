package transfer

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/embedded"
	"zerodag/internal/program"
	"zerodag/internal/serverconfig"
)

// NewBackup returns the command that copies all data of a running server into a file.
func NewBackup(s cli.Streams) *cobra.Command {
	r := &cli.Remote{Streams: s}
	c := &cobra.Command{Use: "backup FILE", Short: "Copy all data of a running server into a file",
		Long: `Copy all data of a running server into a file (tar.gz): projects, schedules, attempts,
secrets, archives and logs, as they are at one moment. The server keeps running.

If the server keeps the key that encrypts secrets with its data, the file contains the key:
keep the file as safe as the secrets. "zerodag restore" restores the data from it.`}
	return r.Command(c, 1, 1, func(ctx context.Context, args []string) error {
		if err := r.Open(ctx); err != nil {
			return err
		}
		defer r.Watch(r.Client)()
		in, err := r.Backup(ctx)
		if err != nil {
			return err
		}
		defer in.Close()
		size, err := save(args[0], in)
		if err != nil {
			return err
		}
		result := struct {
			File string `json:"file"`
			Size int64  `json:"size"`
		}{args[0], size}
		return r.Show(result, func(p cli.Printer) { p.Line("Backed up to %s (%d bytes).", args[0], size) })
	})
}

// save writes a new file that appears only once it is complete.
func save(file string, in io.Reader) (int64, error) {
	if _, err := os.Stat(file); err == nil {
		return 0, fmt.Errorf("%s already exists: remove it, or name a different file", file)
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".backup-")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	n, err := io.Copy(f, in)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return 0, fmt.Errorf("write backup: %w", err)
	}
	return n, nil
}

// NewRestore returns the command that creates the data of a server from a backup.
func NewRestore(s cli.Streams) *cobra.Command {
	folder := ""
	c := &cobra.Command{Use: "restore FILE", Short: "Restore the data of a server from a backup", Args: func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return program.UsageError(fmt.Errorf("missing argument: the file of the backup"))
		}
		return nil
	}}
	c.Flags().StringVarP(&folder, "database", "o", serverconfig.DataFolder, "restore into this `DIR`, which must be empty or not exist")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		s.Banner()
		f, err := os.Open(args[0])
		if err != nil {
			return fmt.Errorf("open backup: %w", err)
		}
		defer f.Close()
		if err := embedded.Restore(cmd.Context(), f, folder); err != nil {
			return err
		}
		fmt.Fprintf(s.Out, "Restored to %s. Start it with: zerodag server -o %s\n", folder, folder)
		return nil
	}
	return c
}
