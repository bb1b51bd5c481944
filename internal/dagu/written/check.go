package written

import (
	"fmt"

	"zerodag/engine/dig"
)

// File is a translated workflow file.
type File struct {
	Name string // "sales.dig"
	Text []byte
}

// Check loads the files as a push would.
func Check(files []File) error {
	texts, names := map[string][]byte{}, []string{}
	for _, f := range files {
		if texts[f.Name] != nil {
			return fmt.Errorf("two workflows of the file would be called %s: rename one of them", f.Name)
		}
		texts[f.Name], names = f.Text, append(names, f.Name)
	}
	_, err := dig.Load(func(name string) ([]byte, error) {
		if text, there := texts[name]; there {
			return text, nil
		}
		return nil, dig.ErrNotFound
	}, names)
	return err
}
