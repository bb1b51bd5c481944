package server

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"

	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

func getVersion(c *endpoint.Call) (any, error) { return wire.Version{Version: c.Version}, nil }

// versionCheck decides which clients are too old.
type versionCheck struct {
	upgrade, incompatible *clientVersion // nil for none
}

// clientVersion is a version of the form N(.N)*(-qualifier)?
type clientVersion struct {
	numbers   []int
	qualifier string // "" for none, which is newer than any qualifier
}

func parseVersion(text string) (*clientVersion, error) {
	parts := regexp.MustCompile(`^((?:0|[1-9][0-9]*)(?:\.(?:0|[1-9][0-9]*))*)(?:-([A-Za-z0-9_.\-]+))?$`).FindStringSubmatch(text)
	if parts == nil {
		return nil, wire.Invalid("Invalid version string: %s", text)
	}
	v := &clientVersion{qualifier: parts[2]}
	for s := range strings.SplitSeq(parts[1], ".") {
		n, err := strconv.ParseInt(s, 10, 32)
		if err != nil {
			return nil, wire.Invalid("Version number too large: %s", text)
		}
		v.numbers = append(v.numbers, int(n))
	}
	return v, nil
}

func (v *clientVersion) olderThan(o *clientVersion) bool {
	for i := range max(len(v.numbers), len(o.numbers)) {
		if c := cmp.Compare(v.number(i), o.number(i)); c != 0 {
			return c < 0
		}
	}
	if v.qualifier == "" || o.qualifier == "" {
		return v.qualifier != "" && o.qualifier == ""
	}
	return v.qualifier < o.qualifier
}

func (v *clientVersion) number(i int) int {
	if i < len(v.numbers) {
		return v.numbers[i]
	}
	return 0
}

func newVersionCheck(o endpoint.Options) (versionCheck, error) {
	var check versionCheck
	var err error
	if o.UpgradeIfOlder != "" {
		if check.upgrade, err = parseVersion(o.UpgradeIfOlder); err != nil {
			return check, err
		}
	}
	if o.IncompatibleIfOlder != "" {
		check.incompatible, err = parseVersion(o.IncompatibleIfOlder)
	}
	return check, err
}

func (r *Room) checkVersion(c *endpoint.Call) (any, error) {
	text, err := c.Required("client")
	if err != nil {
		return nil, err
	}
	client, err := parseVersion(text)
	if err != nil {
		return nil, err
	}
	older := func(than *clientVersion) bool { return than != nil && client.olderThan(than) }
	if c.Uploads != nil {
		c.W.Header().Set(endpoint.UploadsHeader, "slots")
	}
	return wire.VersionCheck{ServerVersion: c.Version, UpgradeRecommended: older(r.versions.upgrade), APICompatible: !older(r.versions.incompatible)}, nil
}
