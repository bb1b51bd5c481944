package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"zerodag/internal/client"
	"zerodag/internal/datafolder"
	"zerodag/internal/files"
)

// newDownload unpacks a revision into a folder.
func newDownload(s streams) *cobra.Command {
	r := &remote{streams: s}
	revision, output := "", ""
	c := &cobra.Command{Use: "download project", Short: "Get the files of a project"}
	c.Flags().StringVarP(&revision, "revision", "r", "", "`REVISION` instead of the latest one")
	c.Flags().StringVarP(&output, "output", "o", "", "put the files into this `DIR` (default: the name of the project)")
	return r.command(c, 1, 1, func(ctx context.Context, args []string) error {
		if err := r.open(ctx); err != nil {
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
			if output = args[0]; !namesFolder(output) {
				return fmt.Errorf("the project's name %q is no name of a folder: name one with --output", output)
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
		return r.show(result, func(p printer) {
			for _, name := range names {
				if target, err := os.Readlink(filepath.Join(output, name)); err == nil {
					p.line("  %s -> %s", filepath.Join(output, name), target)
					continue
				}
				p.line("  %s", filepath.Join(output, name))
			}
			p.line("Extracted project '%s' revision '%s' to %s.", args[0], revision, output)
		})
	})
}

// namesFolder says that a project's name is that of a folder right here.
func namesFolder(name string) bool {
	return filepath.IsLocal(name) && name != "." && !strings.ContainsAny(name, `/\`) && oneLine(name) == name
}

// generous bounds are for archives of a server that one chose oneself.
func generous() files.Limits {
	const tera = 1 << 40
	return files.Limits{Compressed: tera, Total: tera, Entries: 10_000_000}
}

// noArchive is what the user is told where a server says that there is none: what retention has removed was there.
func noArchive(revision string, err error) error {
	if why := client.Message(err); strings.Contains(why, " was removed at ") {
		return errors.New(why)
	}
	return fmt.Errorf("Project archive of revision '%s' does not exist.", revision)
}

// download unpacks beside the files that are there already and then moves into place:
// what is broken touches nothing.
func (r *remote) download(ctx context.Context, project client.ID, revision, output string) ([]string, error) {
	defer r.watch(r.Client)()
	archive, err := r.Archive(ctx, project, revision)
	if client.IsMissing(err) {
		err := noArchive(revision, err)
		if hint := r.revisionHint(ctx, project, revision); hint != "" && !asDigdag() {
			err = fmt.Errorf("%w\nhint: %s", err, hint)
		}
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	if err := os.MkdirAll(output, 0o755); err != nil { // #nosec G301 -- it is the user's project, closed by his umask if he wants so
		return nil, fmt.Errorf("download: %w", err)
	}
	temporary, err := os.MkdirTemp(output, ".download-*")
	if err != nil {
		return nil, fmt.Errorf("download: %w", err)
	}
	defer os.RemoveAll(temporary)
	unpacked := filepath.Join(temporary, "p")
	if err := files.Unpack(ctx, archive, unpacked, generous()); err != nil {
		return nil, err
	}
	left, err := datafolder.Remove(unpacked)
	if err != nil {
		return nil, err
	}
	for _, name := range left {
		fmt.Fprintln(r.notes(), leftOut(name))
	}
	return moveInto(unpacked, output)
}

// moveInto moves all files of one folder into another one, replacing what is there. The
// target is an os.Root: a link that is there must not lead a file elsewhere.
func moveInto(from, to string) ([]string, error) {
	root, err := os.OpenRoot(to)
	if err != nil {
		return nil, fmt.Errorf("download: %w", err)
	}
	defer root.Close()
	source, err := filepath.Rel(to, from)
	if err != nil {
		return nil, fmt.Errorf("download: %w", err)
	}
	names := []string{}
	err = filepath.WalkDir(from, func(file string, d fs.DirEntry, err error) error {
		if err != nil || file == from {
			return err
		}
		name, err := filepath.Rel(from, file)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return moveFolder(root, name, d)
		}
		names = append(names, name)
		return root.Rename(filepath.Join(source, name), name)
	})
	if err != nil {
		return nil, fmt.Errorf("download: %w", err)
	}
	return names, nil
}

func moveFolder(root *os.Root, name string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	if err := root.MkdirAll(name, 0o755); err != nil {
		return err
	}
	return root.Chmod(name, info.Mode().Perm())
}
