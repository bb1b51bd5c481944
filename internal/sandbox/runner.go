package sandbox

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Class is what runners must have in common to take the same commands.
type Class struct {
	Image  string `json:"image"`
	CPU    int    `json:"cpu"`    // 1024 is a vCPU
	Memory int    `json:"memory"` // MiB
	Disk   int    `json:"disk"`   // GiB
	Role   string `json:"role,omitempty"`
	Spot   bool   `json:"spot,omitempty"`
	// On is the executor whose machines these are: "" is Fargate, else operators.OnMicrovm.
	On string `json:"on,omitempty"`
	// Own: the size was asked for by the command, so it has it for itself. Others share one.
	Own bool `json:"own,omitempty"`
	// Alone is a word that only one command has: nothing else runs there, before or after.
	Alone string `json:"alone,omitempty"`
}

// Key names a class.
func (c Class) Key() string {
	text, err := json.Marshal(c)
	if err != nil {
		panic(fmt.Sprintf("sandbox: encode a class: %v", err)) // numbers and texts: cannot fail
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Slots is how many commands a runner of the class runs concurrently.
func (c Class) Slots() int {
	if c.Own || c.Alone != "" {
		return 1
	}
	return max(2, 4*c.CPU/1024)
}

// Depth is how many commands may be with a runner, or wait for it, before another is
// launched at once: to launch takes longer than short commands take.
func (c Class) Depth() int {
	if c.Own || c.Alone != "" {
		return 1
	}
	return 20
}

// Runner is a machine that runs, or will run, commands of one class of one attempt.
type Runner struct {
	Attempt  int64
	Class    string // Class.Key
	Slot     int    // 0 ... MaxRunners-1: at most one runner has it
	ID       string // of this one: another in the same slot has another
	Of       Class
	Site     int64
	Project  int64
	Launched time.Time // or tried to be
	Refused  string    // why the last try failed; "" if it succeeded or is still to come
	Seen     time.Time // zero until it joined; then up to seenTime old while it polls
	Load     int       // commands it has, as it said last
	Asked    int       // how many commands came since; it leaves only if it has seen them all
	Task     string    // what the launcher calls it; "" until it is launched
	Hash     []byte    // of the secret that it chose when it joined; nil before
	Fenced   bool      // it may do nothing more
	Why      string    // it was fenced
	Left     bool      // it is fenced because it left and reported so
	Twice    bool      // its ticket was shown twice
	Told     bool      // the alarm about that was raised
}

// MaxRunners is how many an attempt may have of one class.
const MaxRunners = 10

func newRunner(attempt int64, class Class, slot int, at time.Time) Runner {
	return Runner{Attempt: attempt, Class: class.Key(), Slot: slot, ID: strings.ToLower(rand.Text()[:16]), Of: class, Launched: at}
}

// Name distinguishes a runner from all others; it uses only letters that ECS accepts.
func (r Runner) Name() string {
	return fmt.Sprintf("%d-%s-%d-%s", r.Attempt, r.Class, r.Slot, r.ID)
}

func (r Runner) accepts(secret string) bool {
	return subtle.ConstantTimeCompare(hashed(secret), r.Hash) == 1
}

func hashed(secret string) []byte {
	hash := sha256.Sum256([]byte(secret))
	return hash[:]
}

// Place is where a runner's row is.
type Place struct {
	Attempt int64
	Class   string
	Slot    int
	ID      string
}

// ParseName takes the name of a runner apart.
func ParseName(name string) (Place, error) {
	parts := strings.Split(name, "-")
	if len(parts) != 4 {
		return Place{}, errUnknownRunner
	}
	attempt, err := strconv.ParseInt(parts[0], 10, 64)
	slot, err2 := strconv.Atoi(parts[2])
	if err != nil || err2 != nil {
		return Place{}, errUnknownRunner
	}
	return Place{attempt, parts[1], slot, parts[3]}, nil
}

// runner is what the name of a runner contains: the rest is gone with its row.
func (p Place) runner() Runner {
	return Runner{Attempt: p.Attempt, Class: p.Class, Slot: p.Slot, ID: p.ID}
}
