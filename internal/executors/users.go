package executors

import (
	"errors"
	"fmt"
	"math"
	"os/user"
	"regexp"
	"strconv"
	"sync"

	"zerodag/internal/process"
	"zerodag/operators"
)

// UserPerSite is the value of Settings.User for a server that may change users. No system that we know of assigns these
// IDs: they are above systemd's ranges and below the ranges of containers.
const UserPerSite = "70000-99999"

// users returns the users that processes run as.
type users interface {
	// of returns a site's user; nil means this program's user.
	of(site int64) (*process.User, error)
}

const userKey = "agent.command_executor.process.user"

// idRange matches a value of Settings.User that is a range.
var idRange = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9]{1,10})-([0-9]{1,10})$`) })

// usersOf parses Settings.User.
func usersOf(text string) (users, error) {
	if text == "" {
		return everyone{}, nil
	}
	may := func(ids ...int) error {
		if err := process.MayBecome(ids...); err != nil {
			return fmt.Errorf("configuration key %s: %w: start the server as root with all capabilities, or remove the key", userKey, err)
		}
		return nil
	}
	if first, last, found := rangeOf(text); found {
		if first == 0 || first > last || last > math.MaxInt32 {
			return nil, fmt.Errorf("configuration key %s: %s is not a range of unprivileged user IDs, such as %s", userKey, text, UserPerSite)
		}
		return bySite{first, last}, may(int(first), int(last))
	}
	if err := may(); err != nil {
		return nil, err
	}
	u, err := user.Lookup(text)
	if err != nil {
		return nil, fmt.Errorf("configuration key %s: %w", userKey, err)
	}
	id, err1 := strconv.Atoi(u.Uid)
	group, err2 := strconv.Atoi(u.Gid)
	if err := errors.Join(err1, err2); err != nil || id == 0 {
		return nil, fmt.Errorf("configuration key %s: %s must be an unprivileged user", userKey, text)
	}
	return everyone{&process.User{ID: id, Group: group, Name: u.Username, Home: u.HomeDir}}, nil
}

// rangeOf parses a range of IDs.
func rangeOf(text string) (first, last int64, found bool) {
	m := idRange().FindStringSubmatch(text)
	if m == nil {
		return 0, 0, false
	}
	first, _ = strconv.ParseInt(m[1], 10, 64) // ten digits always fit
	last, _ = strconv.ParseInt(m[2], 10, 64)
	return first, last, true
}

// everyone assigns the same user to all sites.
type everyone struct{ user *process.User }

func (e everyone) of(int64) (*process.User, error) { return e.user, nil }

// bySite assigns a separate user to each site: its ID is the first ID plus the site's number, so all servers choose the
// same ID.
type bySite struct{ first, last int64 }

func (r bySite) of(site int64) (*process.User, error) {
	if site < 0 || site > r.last-r.first {
		return nil, operators.Failf("site %d has no user: its ID must be in the range %d-%d of %s", site, r.first, r.last, userKey)
	}
	id := strconv.FormatInt(r.first+site, 10)
	// A user of this machine may own files, which the commands could then read.
	if u, err := user.LookupId(id); err == nil {
		return nil, operators.Failf("site %d has no user: %s of the range in %s is the ID of %s: choose a range without users", site, id, userKey, u.Username)
	}
	if g, err := user.LookupGroupId(id); err == nil {
		return nil, operators.Failf("site %d has no user: %s of the range in %s is the ID of the group %s: choose a range without groups", site, id, userKey, g.Name)
	}
	n := int(r.first + site)
	return &process.User{ID: n, Group: n, Name: "site" + strconv.FormatInt(site, 10)}, nil
}
