package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"zerodag/engine/param"
	"zerodag/internal/datafolder"
	"zerodag/internal/limits"
	"zerodag/internal/projectfiles"
	"zerodag/operators"
	"zerodag/operators/run"
)

// Workspaces gives each run of a task the files of its project's revision: a separate folder, created only if the run
// may change files in it. Runs that only read share one unpacked copy of the archive.
type Workspaces struct {
	place   *place
	room    *room
	folder  string
	archive func(ctx context.Context, key string) (io.ReadCloser, error)
	limits  projectfiles.Limits
	own     func(root string, id operators.Identity) error // nil: commands run as this program's user

	mu       sync.Mutex
	unpacked map[string]*unpacked
	oldest   []string // keys of unpacked
	clean    string   // prefix of the kept copies' names
	kept     int      // how many copies have been kept so far, for their names
}

// unpacked is an archive on disk, unpacked by the first run that needs it.
type unpacked struct {
	once    sync.Once
	project projectfiles.Project
	size    int64 // the size of its files
	err     error
	ended   bool     // the run that was unpacking it was ended, as err describes
	users   int      // guarded by Workspaces.mu
	clean   []*clone // unused and unchanged copies; guarded by Workspaces.mu
}

// keptArchives is how many unpacked archives are kept in addition to those in use.
const keptArchives = 20

// NewWorkspaces creates workspaces in a new folder below parent that belongs only to this process. It deletes the
// folders that processes that have ended left there. All workspaces together take at most disk bytes; 0 means half of
// the free space there.
func NewWorkspaces(parent string, disk int64, most projectfiles.Limits, archive func(ctx context.Context, key string) (io.ReadCloser, error)) (*Workspaces, error) {
	p, err := newPlace(parent)
	if err != nil {
		return nil, fmt.Errorf("create folder of workspaces: %w", err)
	}
	for _, name := range []string{"workspace", "archive"} {
		if err := os.Mkdir(filepath.Join(p.folder, name), privateFolder); err != nil {
			return nil, errors.Join(fmt.Errorf("create folder of workspaces: %w", err), p.close())
		}
	}
	return &Workspaces{place: p, room: newRoom(p.folder, disk), folder: p.folder, archive: archive, limits: most, clean: cleanNames(), unpacked: map[string]*unpacked{}}, nil
}

// Share lets other users of the machine, under whose accounts commands run, reach a workspace whose name they know. own
// transfers a run's folder to the user that runs its commands. Share must be called before the first run.
func (w *Workspaces) Share(own func(root string, id operators.Identity) error) error {
	w.own = own
	return errors.Join(os.Chmod(w.folder, 0o711), os.Chmod(filepath.Join(w.folder, "workspace"), 0o711)) // #nosec G302 -- commands of other users can traverse the folder to their workspaces, but cannot list it
}

// Folder returns the folder that holds the workspaces.
func (w *Workspaces) Folder() string { return w.folder }

// Close deletes everything.
func (w *Workspaces) Close() error { return w.place.close() }

// Workspace is the project's folder for one run. It implements operators.Files.
type Workspace struct {
	ctx   context.Context //nolint:containedctx // a folder lives as long as its run, and operators.Files determines its methods
	all   *Workspaces
	key   string
	name  string
	in    func(root string) operators.Commands
	id    operators.Identity
	mu    sync.Mutex
	from  *unpacked // nil until a file is read
	own   *clone    // nil until something may change
	wrong error     // why there is no separate folder
}

// Of returns a run's workspace. in creates its commands.
func (w *Workspaces) Of(ctx context.Context, archive string, id operators.Identity, in func(root string) operators.Commands) *Workspace {
	return &Workspace{ctx: ctx, all: w, key: archive, name: run.FolderName(id), in: in, id: id}
}

// patiently repeats work that needs file descriptors until there are enough.
func (w *Workspace) patiently(do func() error) error { return limits.Patiently(w.ctx, nil, do) }

// shared returns the unpacked archive.
func (w *Workspace) shared() (p projectfiles.Project, err error) {
	err = w.patiently(func() (err error) { p, err = w.unpacked(); return err })
	return p, err
}

// unpacked lets one run unpack the archive for all runs that wait for it. If that run ends in the meantime, the next
// one unpacks it.
func (w *Workspace) unpacked() (projectfiles.Project, error) {
	for {
		if w.from == nil {
			w.from = w.all.take(w.key)
		}
		u := w.from
		u.once.Do(func() {
			if u.project, u.err = w.all.unpack(w.ctx, w.key); u.err == nil {
				u.size = sizeOf(u.project.Root())
			} else {
				u.ended = w.ctx.Err() != nil
			}
		})
		if u.err == nil {
			return u.project, nil
		}
		w.all.forget(w.key, u) // so that the next run tries again
		w.all.give(u)
		w.from = nil
		if !u.ended || w.ctx.Err() != nil {
			return u.project, u.err
		}
	}
}

func (w *Workspaces) take(key string) *unpacked {
	w.mu.Lock()
	defer w.mu.Unlock()
	u := w.unpacked[key]
	if u == nil {
		u = &unpacked{}
		w.unpacked[key] = u
		w.oldest = append(w.oldest, key)
	}
	u.users++
	return u
}

func (w *Workspaces) forget(key string, u *unpacked) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.unpacked[key] == u {
		w.drop(key)
	}
}

func (w *Workspaces) drop(key string) {
	delete(w.unpacked, key)
	for i, k := range w.oldest {
		if k == key {
			w.oldest = append(w.oldest[:i:i], w.oldest[i+1:]...)
			return
		}
	}
}

// give returns an archive to the workspaces, and deletes unused old ones.
func (w *Workspaces) give(u *unpacked) {
	w.mu.Lock()
	defer w.mu.Unlock()
	u.users--
	for i := 0; len(w.oldest) > keptArchives && i < len(w.oldest); i++ {
		key := w.oldest[i]
		if old := w.unpacked[key]; old.users == 0 {
			w.drop(key)
			removeFolder(old.project.Root())
			for _, c := range old.clean {
				w.remove(c)
			}
			i--
		}
	}
}

func (w *Workspaces) inspect(ctx context.Context, key string) error {
	in, err := w.archive(ctx, key)
	if err != nil {
		return fmt.Errorf("read project archive: %w", err)
	}
	defer in.Close()
	return projectfiles.Inspect(ctx, in, w.limits)
}

func (w *Workspaces) unpack(ctx context.Context, key string) (projectfiles.Project, error) {
	in, err := w.archive(ctx, key)
	if err != nil {
		return projectfiles.Project{}, fmt.Errorf("read project archive: %w", err)
	}
	defer in.Close()
	folder, err := os.MkdirTemp(filepath.Join(w.folder, "archive"), "")
	if err != nil {
		return projectfiles.Project{}, fmt.Errorf("unpack project archive: %w", err)
	}
	if err := projectfiles.Unpack(ctx, in, folder, w.limits); err != nil {
		removeFolder(folder)
		return projectfiles.Project{}, fmt.Errorf("unpack project archive: %w", err)
	}
	if _, err := datafolder.Remove(folder); err != nil { // the revision may have been pushed before such archives were refused
		return projectfiles.Project{}, errors.Join(err, os.RemoveAll(folder))
	}
	return projectfiles.Open(folder)
}

// project returns the files to read: those in the run's own folder once it exists.
func (w *Workspace) project() (projectfiles.Project, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.own != nil {
		return w.own.Project, nil
	}
	return w.shared()
}

// mine creates the run's own folder.
func (w *Workspace) mine() (projectfiles.Project, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.own == nil && w.wrong == nil {
		tried := false
		w.wrong = w.patiently(func() (err error) {
			if tried { // first remove leftovers of an earlier try, which may also have lacked descriptors
				if err := os.RemoveAll(w.path()); err != nil {
					return err
				}
			}
			tried = true
			w.own, err = w.clone()
			return err
		})
		if w.wrong != nil {
			removeFolder(w.path())
			w.wrong = fmt.Errorf("create workspace: %w", w.wrong)
		}
	}
	if w.wrong != nil {
		return projectfiles.Project{}, w.wrong
	}
	return w.own.Project, nil
}

// clone takes an existing clean copy, or creates one.
func (w *Workspace) clone() (*clone, error) {
	p, err := w.shared()
	if err != nil {
		return nil, err
	}
	if c := w.all.takeClean(w.from); c != nil {
		if c.moveTo(w.path()) == nil {
			return c, nil
		}
		w.all.remove(c)
	}
	size := w.from.size
	if err := w.all.room.take(w.ctx, size, w.all.dropClean); err != nil {
		return nil, err
	}
	c, err := copied(p, w.path(), w.owned)
	if err != nil {
		w.all.room.give(size)
		if errors.Is(err, fs.ErrNotExist) { // something else deletes files here: the next run unpacks them again
			w.all.forget(w.key, w.from)
		}
		return nil, err
	}
	c.size = size
	return c, nil
}

// owned transfers the run's folder to the user that runs its commands.
func (w *Workspace) owned(root string) error {
	if w.all.own == nil {
		return nil
	}
	return w.all.own(root, w.id)
}

func (w *Workspace) path() string { return filepath.Join(w.all.folder, "workspace", w.name) }

// Wrong returns the reason why the folder for the run could not be created.
func (w *Workspace) Wrong() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.wrong
}

// Root implements operators.Files. If the folder could not be created, the first use of it reports that.
func (w *Workspace) Root() string {
	p, err := w.mine()
	if err != nil {
		return w.path()
	}
	return p.Root()
}

// Read implements operators.Files.
func (w *Workspace) Read(name string) ([]byte, error) {
	p, err := w.project()
	if err != nil {
		return nil, err
	}
	var content []byte
	err = w.patiently(func() (err error) { content, err = p.Read(name); return err })
	return content, err
}

// Load implements operators.Files.
func (w *Workspace) Load(name string) (*param.Map, error) {
	p, err := w.project()
	if err != nil {
		return nil, err
	}
	var config *param.Map
	err = w.patiently(func() (err error) { config, err = p.Load(name); return err })
	return config, err
}

// Write implements operators.Files.
func (w *Workspace) Write(name string, content []byte) error {
	p, err := w.mine()
	if err != nil {
		return err
	}
	return w.patiently(func() error { return p.Write(name, content) })
}

// Run implements operators.Commands.
func (w *Workspace) Run(ctx context.Context, c operators.Command) (operators.Exit, error) {
	p, err := w.mine()
	if err != nil {
		return operators.Exit{}, err
	}
	return w.in(p.Root()).Run(ctx, c)
}

// Stop implements operators.Commands.
func (w *Workspace) Stop(ctx context.Context, status *param.Map) error {
	return w.in("").Stop(ctx, status)
}

// Leave ends the use of the workspace. The run's own folder is deleted, or kept for another run of this revision if
// nothing in it was changed.
func (w *Workspace) Leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.own != nil && !(w.own.unchanged() && w.all.keepClean(w.from, w.own)) {
		w.all.remove(w.own)
	}
	if w.from != nil {
		w.all.give(w.from)
	}
}

// Archive unpacks an archive for viewing; Close deletes the unpacked files. An invalid archive is refused before
// anything is unpacked.
func (w *Workspaces) Archive(ctx context.Context, key string) (*projectfiles.Archive, error) {
	if err := w.inspect(ctx, key); err != nil {
		return nil, err
	}
	p, err := w.unpack(ctx, key)
	if err != nil {
		return nil, err
	}
	return projectfiles.OpenArchive(p.Root())
}
