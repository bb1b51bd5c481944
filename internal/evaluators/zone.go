package evaluators

import (
	"os"
	"path/filepath"
	"time"

	"zerodag/engine/schedule"
)

// zones are those that an evaluator knows by name.
type zones struct{ known map[string]*time.Location }

// find returns a zone: an offset, or a region by the rules that came with it or before.
func (z *zones) find(name string, rules []byte) (*time.Location, error) {
	if l := z.known[name]; l != nil {
		return l, nil
	}
	var l *time.Location
	var err error
	if rules != nil {
		l, err = time.LoadLocationFromTZData(name, rules)
	} else {
		l, err = schedule.Zone(name)
	}
	if err != nil {
		return nil, err
	}
	if z.known == nil {
		z.known = map[string]*time.Location{}
	}
	z.known[name] = l
	return l, nil
}

// rulesOf reads the rules of a region where this machine keeps them: an evaluator opens no
// file, and both must know the same. nil when it keeps none: then both have those that this
// program was built with.
func rulesOf(name string) []byte {
	if !filepath.IsLocal(name) {
		return nil
	}
	for _, folder := range []string{"/usr/share/zoneinfo", "/usr/share/lib/zoneinfo", "/usr/lib/locale/TZ", "/etc/zoneinfo"} {
		if rules, err := os.ReadFile(filepath.Join(folder, name)); err == nil {
			return rules
		}
	}
	return nil
}
