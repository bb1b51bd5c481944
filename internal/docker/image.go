package docker

import (
	"context"
	"crypto/rand"
	"crypto/sha1" // #nosec G505 -- the sum is a name, as in the original
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"zerodag/engine/param"
	"zerodag/internal/datafolder"
	"zerodag/operators"
)

// prepare makes sure that the image exists if it must be fetched or built before the run.
func (r *run) prepare(ctx context.Context) error {
	s := r.settings
	r.image = s.image
	var err error
	if r.hidden, err = datafolder.Within(r.root); err != nil {
		return err
	}
	if slices.Contains(r.hidden, ".") {
		return operators.Failf("docker: the folder %s contains server data, which must not be mounted into a container: move the data elsewhere (zerodag server --database DIR)", r.root)
	}
	if len(s.build) > 0 {
		r.image = r.project.image(s)
		return r.build(ctx)
	}
	if s.pullAlways {
		return r.pull(ctx)
	}
	if r.command.Sandbox.Time > 0 { // the time limit applies to the command, not to its image
		if _, err := ask(ctx, s.program, "image", "inspect", "--format", "{{.Id}}", r.image); err != nil {
			return r.pull(ctx)
		}
	}
	return nil
}

func (r *run) pull(ctx context.Context) error {
	if err := r.step(ctx, []string{"pull", r.image}, ""); err != nil {
		return failed("Docker pull failed", r.image, err)
	}
	return nil
}

func failed(what, image string, err error) error {
	return operators.Failf("%s: %s: %v", what, image, err)
}

// image returns the name of the image that is built for a project. It includes the project's id, so that no project
// gets an image that another project built. Without a revision, the name is always new.
func (p Project) image(s settings) string {
	revision := p.Revision
	if revision == "" {
		revision = rand.Text()
	}
	tree := param.New()
	tree.Set("image", s.image)
	var lines []param.Value
	for _, line := range s.build {
		lines = append(lines, line)
	}
	tree.Set("build", lines)
	tree.Set("revision", revision)
	return fmt.Sprintf("digdag-project-%d:%x", p.ID, sha1.Sum([]byte(param.Text(tree)))) // #nosec G401 -- the sum is a name, as in the original
}

// build builds the image unless it exists. The engine's output goes to the task's log.
func (r *run) build(ctx context.Context) error {
	one := r.driver.building(r.image)
	one.Lock()
	defer one.Unlock()
	out, err := ask(ctx, r.settings.program, "images", "-q", r.image)
	if err != nil || strings.TrimSpace(out) != "" {
		return err
	}
	if len(r.hidden) > 0 {
		return operators.Failf("docker: the project contains server data in %s, and the build would receive it with the whole folder: move the data elsewhere (zerodag server --database DIR)", strings.Join(r.hidden, ", "))
	}
	file := r.dockerfileName()
	root, err := os.OpenRoot(r.root)
	if err != nil {
		return fmt.Errorf("write the Dockerfile: %w", err)
	}
	defer root.Close()
	if err := root.MkdirAll(path.Dir(file), 0o755); err != nil {
		return fmt.Errorf("write the Dockerfile: %w", err)
	}
	if err := root.WriteFile(file, []byte(dockerfile(r.settings.image, r.settings.build)), 0o644); err != nil {
		return fmt.Errorf("write the Dockerfile: %w", err)
	}
	args := append([]string{"build"}, r.settings.buildOptions...)
	if err := r.step(ctx, append(args, "-f", file, "--force-rm", "-t", r.image, r.root), r.root); err != nil {
		return failed("Docker build failed", r.image, err)
	}
	return nil
}

// building returns an image's lock, so that an image that several tasks need is built only once.
func (d *Driver) building(image string) *sync.Mutex {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.builds[image] == nil {
		d.builds[image] = &sync.Mutex{}
	}
	return d.builds[image]
}
