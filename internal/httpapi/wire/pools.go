package wire

// Pool is a pool of slots.
type Pool struct {
	ID        ID      `json:"id"`
	Name      string  `json:"name"`
	Project   *IDName `json:"project"`
	Slots     int     `json:"slots"`
	Held      bool    `json:"held"`
	CreatedAt Moment  `json:"createdAt"`
	UpdatedAt Moment  `json:"updatedAt"`
}

// Taken is a slot that a task has.
type Taken struct {
	AttemptID ID     `json:"attemptId"`
	Task      ID     `json:"taskId"`
	Number    int    `json:"slot"`
	At        Moment `json:"since"`
}

// Claim is a task that waits for slots.
type Claim struct {
	AttemptID ID     `json:"attemptId"`
	Task      ID     `json:"taskId"`
	Slots     int    `json:"slots"`
	Priority  int    `json:"priority"`
	Since     Moment `json:"since"`
}

// MostClaims is the maximum number of claims of a line that are shown.
const MostClaims = 100

// Line is a pool with the holders of its slots and the waiting claims.
type Line struct {
	Pool
	Taken   []Taken `json:"taken"`
	Waiting []Claim `json:"waiting"`
	All     bool    `json:"all"` // false: more claims wait
}

// PoolBody sets a pool's slots.
type PoolBody struct {
	Slots *Whole `json:"slots"`
}
