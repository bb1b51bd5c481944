package schedule

import (
	"archive/zip"
	_ "embed" // the archive below
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// archive is the time zone database that comes with Go; `make generate` copies it. The program uses no other rules:
// time.LoadLocation would prefer the rules in $ZONEINFO and in the system's files, and then two machines could disagree
// about the time of a session.
//
//go:embed zoneinfo.zip
var archive string

// regions are the archive's files, by the region's name.
var regions = sync.OnceValue(func() map[string]*zip.File {
	r, err := zip.NewReader(strings.NewReader(archive), int64(len(archive)))
	if err != nil {
		panic(fmt.Sprintf("the time zone database in this program: %v", err)) // TestRegions reads it
	}
	files := make(map[string]*zip.File, len(r.File))
	for _, f := range r.File {
		files[f.Name] = f
	}
	return files
})

// region returns the time zone with a name in the database, "Asia/Tokyo".
func region(name string) (*time.Location, error) {
	f, ok := regions()[name]
	if !ok {
		return nil, fmt.Errorf("the region %q is not in the time zone database", name)
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("open the rules of %s: %w", name, err)
	}
	defer r.Close()
	rules, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read the rules of %s: %w", name, err)
	}
	return time.LoadLocationFromTZData(name, rules)
}
