package wire

import (
	"zerodag/engine/param"
	"zerodag/internal/catalogue"
	"zerodag/internal/catalogue/names"
)

// StartBody requests an attempt: PUT /api/attempts.
type StartBody struct {
	WorkflowID       *Whole      `json:"workflowId"`
	SessionTime      *Instant    `json:"sessionTime"`
	RetryAttemptName *Words      `json:"retryAttemptName"`
	Params           *param.Map  `json:"params"`
	Resume           *ResumeBody `json:"resume"`
	Priority         *string     `json:"priority"`
	At               *Instant    `json:"at"`
	Labels           *param.Map  `json:"labels"`
}

// ResumeBody is the part of StartBody that selects what is taken over from an earlier attempt.
type ResumeBody struct {
	Mode      *string `json:"mode"`
	AttemptID *Whole  `json:"attemptId"`
	From      *Words  `json:"from"`
}

// Check returns an error if something is missing or unknown.
func (b *StartBody) Check() error {
	var absent []string
	if b.WorkflowID == nil {
		absent = append(absent, "workflowId")
	}
	if b.SessionTime == nil {
		absent = append(absent, "sessionTime")
	}
	if b.Params == nil {
		absent = append(absent, "params")
	}
	if len(absent) > 0 {
		return NotSet(absent...)
	}
	if b.RetryAttemptName != nil {
		if err := names.Retry(string(*b.RetryAttemptName)); err != nil {
			return err
		}
	}
	return b.Resume.check()
}

func (b *ResumeBody) check() error {
	switch {
	case b == nil:
		return nil
	case b.Mode == nil:
		return NotSet("resume.mode")
	case *b.Mode != "failed" && *b.Mode != "from":
		return Invalid("Unknown resuming mode: %s (use failed or from)", *b.Mode)
	case b.AttemptID == nil:
		return NotSet("resume.attemptId")
	case *b.Mode == "from" && b.From == nil:
		return NotSet("resume.from")
	}
	return nil
}

// Request returns the host's form of the request; nil if nothing is resumed.
func (b *ResumeBody) Request() *catalogue.Resume {
	if b == nil {
		return nil
	}
	r := &catalogue.Resume{Mode: *b.Mode, Attempt: int64(*b.AttemptID)}
	if b.From != nil {
		r.From = string(*b.From)
	}
	return r
}

// MostStart is the maximum size of a start's body: twice the limit of its parameters.
const MostStart = 2 << 20

// StartPlan is what a start would do.
type StartPlan struct {
	Params   Object   `json:"params"`
	Warnings []string `json:"warnings"`
}

// ForkBody requests an attempt that continues from a point in another attempt.
type ForkBody struct {
	Seq              *Whole     `json:"seq"`
	RetryAttemptName *string    `json:"retryAttemptName"`
	Params           *param.Map `json:"params"`
}
