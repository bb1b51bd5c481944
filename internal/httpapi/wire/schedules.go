package wire

// Schedule is a workflow's schedule.
type Schedule struct {
	ID               ID     `json:"id"`
	Project          IDName `json:"project"`
	Workflow         IDName `json:"workflow"`
	NextRunTime      Moment `json:"nextRunTime"`
	NextScheduleTime string `json:"nextScheduleTime"`
	DisabledAt       Moment `json:"disabledAt"`
}

// Summary is the response to changes of a schedule. updatedAt repeats createdAt, as in Digdag.
type Summary struct {
	Schedule
	CreatedAt Moment `json:"createdAt"`
	UpdatedAt Moment `json:"updatedAt"`
}

// SkipBody skips sessions of a schedule.
type SkipBody struct {
	NextTime    *LocalOrInstant `json:"nextTime"`
	Count       *Whole          `json:"count"`
	FromTime    *Instant        `json:"fromTime"`
	NextRunTime *Instant        `json:"nextRunTime"`
	DryRun      Choice          `json:"dryRun"`
}

// BackfillBody starts past sessions of a schedule.
type BackfillBody struct {
	FromTime    *Instant `json:"fromTime"`
	AttemptName *Words   `json:"attemptName"`
	Count       *Whole   `json:"count"`
	DryRun      Choice   `json:"dryRun"`
}

// Check returns an error if something is missing.
func (b *BackfillBody) Check() error {
	var absent []string
	if b.FromTime == nil {
		absent = append(absent, "fromTime")
	}
	if b.AttemptName == nil {
		absent = append(absent, "attemptName")
	}
	if !b.DryRun.Given {
		absent = append(absent, "dryRun")
	}
	if len(absent) > 0 {
		return NotSet(absent...)
	}
	return nil
}

// Backfilled lists the attempts that a backfill started.
type Backfilled struct {
	ID       ID        `json:"id"`
	Project  IDName    `json:"project"`
	Workflow IDName    `json:"workflow"`
	Attempts []Attempt `json:"attempts"`
}

// EnableBody enables a schedule, and selects whether missed sessions are skipped.
type EnableBody struct {
	SkipSchedule Choice `json:"skipSchedule"`
	NextTime     *Words `json:"nextTime"`
}
