package host

import (
	"encoding/json"
	"fmt"
	"time"
)

// ArchiveState is retention's record about a revision's archive; the zero value means that nothing is recorded. An
// archive is removed in steps, because a start of its revision may be under way in another process: Going is written
// before anyone checks whether an attempt needs the archive, and each start of an old revision clears Going.
type ArchiveState struct {
	Needed   int64     `json:"needed,omitzero"`   // an attempt that needs it, found by the last search
	Going    time.Time `json:"going,omitzero"`    // when removal was scheduled; an attempt that needs it cancels that
	Searched int64     `json:"searched,omitzero"` // no attempt with this id or above needs it; 0: none was checked
	Removed  time.Time `json:"removed,omitzero"`  // it was removed or is about to be: no attempt begins with the revision
	Cleared  bool      `json:"cleared,omitzero"`  // its blob is gone
}

// Text returns a state as stores keep it; "" for the zero state.
func (s ArchiveState) Text() string {
	if s == (ArchiveState{}) {
		return ""
	}
	text, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("encode the state of an archive: %v", err)) // fails only for a time after the year 9999
	}
	return string(text)
}

// ParseArchiveState parses the result of Text.
func ParseArchiveState(text string) (s ArchiveState, err error) {
	if text == "" {
		return s, nil
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return s, fmt.Errorf("read the state of an archive: %w", err)
	}
	return s, nil
}
