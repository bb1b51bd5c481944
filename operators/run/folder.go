package run

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"

	"zerodag/operators"
)

// FolderName returns the name of the project's folder for a run; it has Digdag's format (conformance README).
func FolderName(i operators.Identity) string {
	return fmt.Sprintf("%d_%s_%d_%d_%018d", i.ProjectID, inName().Replace(i.Workflow), i.AttemptID, i.TaskID, rand.Int64N(1e18)) // #nosec G404 -- the name only needs to be different each time
}

// inName replaces characters that a name cannot contain. It is created once, since that takes kilobytes.
var inName = sync.OnceValue(func() *strings.Replacer { return strings.NewReplacer("/", "_", "\x00", "_") })
