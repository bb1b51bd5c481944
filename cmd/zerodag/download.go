package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/client"
	"zerodag/internal/connection"
	"zerodag/internal/program"
	"zerodag/internal/projectfolder"
)

// newDownload returns the command that unpacks a revision into a folder.
func newDownload(s cli.Streams) *cobra.Command {
	r := &remote{cli.Remote{Streams: s}}
	revision, output := "", ""
	c := &cobra.Command{Use: "download project", Short: "Download the files of a project"}
	c.Flags().StringVarP(&revision, "revision", "r", "", "`REVISION` to download (default: the latest one)")
	c.Flags().StringVarP(&output, "output", "o", "", "write the files to this `DIR` (default: the name of the project)")
	return r.Command(c, 1, 1, func(ctx context.Context, args []string) error {
		if err := r.Open(ctx); err != nil {
			return err
		}
		project, err := r.Project(ctx, args[0])
		if err != nil {
			return err
		}
		if revision == "" {
			revision = project.Revision
		}
		if output == "" {
			if output = args[0]; !projectfolder.NamesFolder(output) {
				return fmt.Errorf("project name %q cannot be the name of a folder: name one with --output", output)
			}
		}
		names, err := r.download(ctx, project.ID, revision, output)
		if err != nil {
			return err
		}
		result := struct {
			Project  string   `json:"project"`
			Revision string   `json:"revision"`
			Folder   string   `json:"folder"`
			Files    []string `json:"files"`
		}{args[0], revision, output, names}
		return r.Show(result, func(p cli.Printer) {
			for _, name := range names {
				if target, err := os.Readlink(filepath.Join(output, name)); err == nil {
					p.Line("  %s -> %s", filepath.Join(output, name), target)
					continue
				}
				p.Line("  %s", filepath.Join(output, name))
			}
			p.Line("Extracted project '%s' revision '%s' to %s.", args[0], revision, output)
		})
	})
}

// noArchive returns the error for an archive that a server does not have. It distinguishes an archive that retention
// has removed from one that never existed.
func noArchive(revision string, err error) error {
	if why := client.Message(err); strings.Contains(why, " was removed at ") {
		return errors.New(why)
	}
	return fmt.Errorf("Project archive of revision '%s' does not exist.", revision)
}

// download unpacks a revision into a folder.
func (r *remote) download(ctx context.Context, project client.ID, revision, output string) ([]string, error) {
	defer r.Watch(r.Client)()
	archive, err := r.Archive(ctx, project, revision)
	if client.IsMissing(err) {
		err := noArchive(revision, err)
		if hint := connection.RevisionHint(ctx, r.Client, project, revision); hint != "" && !program.AsDigdag() {
			err = fmt.Errorf("%w\nhint: %s", err, hint)
		}
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	return projectfolder.Unpack(ctx, archive, output, r.Notes())
}
