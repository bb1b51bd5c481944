package fargate

import (
	"strconv"
	"strings"

	"zerodag/engine/param"
	"zerodag/internal/sandbox"
)

// grant says whose commands may have a role.
type grant struct {
	role    string // ARN
	all     bool   // every project of every site
	site    string
	project string // name; "*" is every one of the site
}

// parseGrant reads SITE/PROJECT=ARN, SITE/*=ARN, or an ARN alone, which is for all: infra has
// refused everything else. What cannot be read allows nobody anything.
func parseGrant(text string) grant {
	whose, role, found := strings.Cut(text, "=")
	if !found {
		return grant{role: text, all: true}
	}
	site, project, _ := strings.Cut(whose, "/")
	return grant{role: role, site: site, project: project}
}

// to says whether the role is for an owner.
func (g grant) to(o sandbox.Owner) bool {
	return g.all || g.site == strconv.FormatInt(o.Site, 10) && (g.project == "*" || g.project == o.Project)
}

// Check refuses a role that is not for the commands of an owner. It says which ones are, and
// none that are for others.
func (l *Launcher) Check(class sandbox.Class, of sandbox.Owner) error {
	if class.Role == "" {
		return nil
	}
	var may []string
	for _, g := range l.roles {
		if !g.to(of) {
			continue
		}
		if g.role == class.Role {
			return nil
		}
		may = append(may, g.role)
	}
	if may == nil {
		return param.Errorf("sandbox: role %s is not allowed: this deployment allows this project none (setting taskRoles: %d/%s=ARN)", class.Role, of.Site, of.Project)
	}
	return param.Errorf("sandbox: role %s is not allowed: this deployment allows this project %s", class.Role, strings.Join(may, ", "))
}
