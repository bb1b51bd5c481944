package env

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// DefinitionDigest is the number of digest characters that follow zerodag-STAGE- in a task definition's name. The
// permission to launch task definitions matches exactly that many: an asterisk would also match the definitions of a
// stage STAGE-x.
const DefinitionDigest = 20

var (
	roleARN   = regexp.MustCompile(`^arn:[a-z-]+:iam::[0-9]{12}:role/\S+$`)
	roleOwner = regexp.MustCompile(`^[0-9]+/[^=]+$`)
)

// TaskRole reads an entry of Commands.Roles: SITE/PROJECT=ARN, SITE/*=ARN for every project of a site, or an ARN alone
// for every project of every site. owner is the part before the ARN.
func TaskRole(text string) (owner, arn string, err error) {
	owner, arn, named := strings.Cut(text, "=")
	if !named {
		owner, arn = "", text
	}
	if !roleARN.MatchString(arn) || named && !roleOwner.MatchString(owner) {
		return "", "", fmt.Errorf("%q is not a task role: use SITE/PROJECT=ARN, SITE/*=ARN or only an ARN", text)
	}
	return owner, arn, nil
}

// Allows reports whether a project's commands may have a role. An unreadable entry allows nothing.
func (c Commands) Allows(site int64, project, role string) bool {
	return slices.ContainsFunc(c.Roles, func(text string) bool {
		owner, arn, err := TaskRole(text)
		if err != nil || arn != role {
			return false
		}
		of := strconv.FormatInt(site, 10) + "/"
		return owner == "" || owner == of+"*" || owner == of+project
	})
}
