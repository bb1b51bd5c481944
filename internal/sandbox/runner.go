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

// Class holds the properties that runners must share to run the same commands.
type Class struct {
	Image  string `json:"image"`
	CPU    int    `json:"cpu"`    // 1024 is a vCPU
	Memory int    `json:"memory"` // MiB
	Disk   int    `json:"disk"`   // GiB
	Role   string `json:"role,omitempty"`
	Spot   bool   `json:"spot,omitempty"`
	// On is the executor of the machines: "" for Fargate, otherwise operators.OnMicrovm.
	On string `json:"on,omitempty"`
	// Own means that the command requested the size, so it has the machine to itself. Other commands share one.
	Own bool `json:"own,omitempty"`
	// Alone is a value that only one command has: nothing else runs on its machine, before or after.
	Alone string `json:"alone,omitempty"`
}

// Key returns the name of a class.
func (c Class) Key() string {
	text, err := json.Marshal(c)
	if err != nil {
		panic(fmt.Sprintf("sandbox: encode a class: %v", err)) // numbers and strings: cannot fail
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Slots returns how many commands a runner of the class runs concurrently.
func (c Class) Slots() int {
	if c.Own || c.Alone != "" {
		return 1
	}
	return max(2, 4*c.CPU/1024)
}

// Depth returns how many commands a runner may have, running or waiting, before another runner is launched at once:
// launching takes longer than short commands.
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
	ID       string // unique to this runner: others in the same slot have different IDs
	Of       Class
	Site     int64
	Project  int64
	Launched time.Time // or when the launch was tried
	Refused  string    // why the last launch failed; "" if it succeeded or has not happened yet
	Seen     time.Time // zero until it joined; then at most seenTime old while it polls
	Load     int       // commands it has, as it last reported
	Asked    int       // how many commands have arrived since; it leaves only if it has seen them all
	Task     string    // the launcher's ID; "" until it is launched
	Hash     []byte    // of the secret that it chose when it joined; nil before that
	Fenced   bool      // it may do nothing more
	Why      string    // why it was fenced
	Left     bool      // it is fenced because it left and reported so
	Twice    bool      // its ticket was shown twice
	Told     bool      // the alarm about that was raised
}

// MaxRunners is how many runners of one class an attempt may have.
const MaxRunners = 10

func newRunner(attempt int64, class Class, slot int, at time.Time) Runner {
	return Runner{Attempt: attempt, Class: class.Key(), Slot: slot, ID: strings.ToLower(rand.Text()[:16]), Of: class, Launched: at}
}

// Name returns a name that distinguishes a runner from all others; it uses only characters that ECS accepts.
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

// Place identifies a runner's row.
type Place struct {
	Attempt int64
	Class   string
	Slot    int
	ID      string
}

// ParseName parses a runner's name.
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

// runner returns the data that the name of a runner contains: the rest is gone with its row.
func (p Place) runner() Runner {
	return Runner{Attempt: p.Attempt, Class: p.Class, Slot: p.Slot, ID: p.ID}
}
