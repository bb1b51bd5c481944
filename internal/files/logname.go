package files

import (
	"fmt"
	"path/filepath"
	"time"

	"zerodag/engine/schedule"
	"zerodag/internal/host"
	"zerodag/internal/tasklog"
	"zerodag/operators"
)

// Task logs are stored where Digdag puts them (engine.md 2.13): in a folder for each day, which contains a folder for
// each attempt.
const sessionForm = "20060102T150405-0700"

// attemptFolder returns the folder for an attempt's logs; session is in the attempt's zone.
func attemptFolder(created time.Time, site, project int64, workflow string, session time.Time, retryName string) string {
	name := fmt.Sprintf("%d.%d%s@%s", site, project, tasklog.Within(workflow), session.Format(sessionForm))
	if retryName != "" {
		name += "_" + tasklog.Within(retryName)
	}
	return filepath.Join(created.UTC().Format("2006-01-02"), tasklog.Shortened(name, tasklog.LongestName))
}

func folderOfRun(id operators.Identity, created time.Time) string {
	return attemptFolder(created, id.SiteID, id.ProjectID, id.Workflow, id.SessionTime, id.RetryAttemptName)
}

func folderOfAttempt(a host.Attempt) (string, error) {
	zone, err := schedule.Zone(a.Zone)
	if err != nil {
		return "", fmt.Errorf("find logs of attempt %d: %w", a.ID, err)
	}
	return attemptFolder(a.CreatedAt, a.Site, a.Project.ID, a.Workflow.Name, a.SessionTime.In(zone), a.RetryName), nil
}
