package projectfolder

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"zerodag/engine/dig"
	"zerodag/engine/dig/keys"
	"zerodag/engine/dig/lint"
	"zerodag/internal/datafolder"
)

// mostScript is the size up to which scripts are checked; no script written by a person is larger.
const mostScript = 1 << 20

// storedByScripts warns about scripts that store values that Digdag would evaluate again, unless every workflow
// requests exactly that.
func storedByScripts(root string, workflows []dig.Workflow) (dig.Errors, error) {
	asked := true
	for _, w := range workflows {
		asked = asked && keys.EvalsStored(w.Config)
	}
	if asked {
		return nil, nil
	}
	var found dig.Errors
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch ext := path.Ext(entry.Name()); {
		case entry.IsDir() && (len(entry.Name()) > 1 && entry.Name()[0] == '.' || datafolder.Is(name)):
			return filepath.SkipDir
		case !entry.Type().IsRegular() || ext != ".py" && ext != ".rb":
			return nil
		}
		if info, err := entry.Info(); err != nil || info.Size() > mostScript {
			return err
		}
		content, err := os.ReadFile(name) // #nosec G122 -- the project belongs to the user who checks it, and links are skipped
		if err != nil {
			return err
		}
		short, err := filepath.Rel(root, name)
		found = append(found, lint.StoredByScript(filepath.ToSlash(short), content)...)
		return err
	})
	return found, err
}
