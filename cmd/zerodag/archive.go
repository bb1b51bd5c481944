package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/projectfolder"
)

// newArchive returns the command that writes a project's archive to a file, without a server.
func newArchive(s cli.Streams) *cobra.Command {
	r := &remote{cli.Remote{Streams: s, Format: cli.TextForm}}
	project, output, copyLinks := "", "", false
	c := &cobra.Command{Use: "archive", Short: "Write an archive of a project's folder"}
	c.Flags().StringVar(&project, "project", "", "the project's `DIR` (default: the current one)")
	c.Flags().StringVarP(&output, "output", "o", "digdag.archive.tar.gz", "`PATH` of the archive")
	c.Flags().BoolVar(&copyLinks, "copy-outgoing-symlinks", false, "store the targets of links that lead out of the folder")
	return r.Command(c, 0, 0, func(context.Context, []string) error {
		if err := r.Begin(); err != nil {
			return err
		}
		if err := r.archive(project, output, copyLinks); err != nil {
			return err
		}
		result := struct {
			Path string `json:"path"`
		}{output}
		return r.Show(result, func(p cli.Printer) {
			p.Line("Created %s.", output)
			p.Line("Use `zerodag upload <path.tar.gz> <project> <revision>` to upload it a server.\n")
			p.Line("  Examples:")
			p.Line("    $ zerodag upload %s $(basename $(pwd)) -r $(date +%%Y%%m%%d-%%H%%M%%S)", output)
			p.Line("    $ zerodag upload %s $(git rev-parse --abbrev-ref HEAD) -r $(git rev-parse HEAD)\n", output)
		})
	})
}

// archive replaces the file once the new one is complete.
func (r *remote) archive(project, output string, copyLinks bool) error {
	folder, err := projectfolder.Open(project)
	if err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(output), ".archive-*.tar.gz")
	if err != nil {
		return fmt.Errorf("write archive: %w", err)
	}
	defer os.Remove(temporary.Name())
	defer temporary.Close()
	if _, err := folder.Archive(temporary, output, copyLinks, r.Notes(), r.Notes()); err != nil {
		return err
	}
	if err := temporary.Chmod(0o644); err != nil {
		return fmt.Errorf("write archive: %w", err)
	}
	if err := os.Rename(temporary.Name(), output); err != nil {
		return fmt.Errorf("write archive: %w", err)
	}
	return nil
}
