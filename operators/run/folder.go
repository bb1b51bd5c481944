package run

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"

	"zerodag/operators"
)

// FolderName is the name of the project's folder as a run has it; its form is the original's
// (conformance README).
func FolderName(i operators.Identity) string {
	return fmt.Sprintf("%d_%s_%d_%d_%018d", i.ProjectID, inName().Replace(i.Workflow), i.AttemptID, i.TaskID, rand.Int64N(1e18)) // #nosec G404 -- the name need only be another one each time
}

// inName replaces what a name cannot have. It is made once: that costs kilobytes.
var inName = sync.OnceValue(func() *strings.Replacer { return strings.NewReplacer("/", "_", "\x00", "_") })
