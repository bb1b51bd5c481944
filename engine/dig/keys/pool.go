package keys

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"zerodag/engine/dig/rule"
	"zerodag/engine/param"
)

// MaxPoolSlots is how many slots of a pool one task may request.
const MaxPoolSlots = 10

// MaxPools is how many pools one task may use.
const MaxPools = 3

// MaxPoolLimit is the highest `limit` of a pool.
const MaxPoolLimit = 1000

// Pool is one pool of an evaluated `_pool`.
type Pool struct {
	Name     string
	Slots    int // 1 to MaxPoolSlots
	Priority int // -2 to 2; higher ones go first
	// Given means that this priority applies, instead of the nearest `_priority`.
	Given bool
	// Limit is how many slots the pool has. Such a pool belongs to the project and exists from its first request. It is 0
	// for a pool that a user creates.
	Limit int
	Wait  time.Duration // how long a try may wait for its slots; 0: no limit
}

// LimitPrefix begins the name of a pool that has a limit: names given by users contain no `:`.
const LimitPrefix = "limit:"

func poolKey() Key {
	return Key{
		Name: "_pool", Where: AtTop | AtGroup | AtTask,
		Doc:   "shared pools whose slots the task occupies while it runs",
		Check: checkPool,
		Schema: func(rule.Meaning) rule.Schema {
			return rule.Schema{}
		},
		Prepare: func(v param.Value, to *Prepared) (err error) {
			to.Pools, err = ParsePools(v)
			return err
		},
		SeesParams: true,
	}
}

// Key returns a pool's unique name. A task that needs slots of several pools requests them in the order of these names.
func (p Pool) Key() string {
	if p.Limit > 0 {
		return LimitPrefix + p.Name
	}
	return p.Name
}

const poolForm = "write `_pool: NAME`, or {name: NAME, slots: 2, priority: high, wait: 2h, limit: 5}"

// ParsePools reads an evaluated `_pool`, in the order in which it is written.
func ParsePools(v param.Value) ([]Pool, error) {
	fault := ""
	list := readPools(v, false, func(_ []string, message, hint string) {
		if fault == "" {
			fault = message + ": " + hint
		}
	})
	if fault != "" {
		return nil, param.Errorf("%s", fault)
	}
	return list, nil
}

// checkPool requires pools that a task can request, judging by the text alone.
func checkPool(_ string, v param.Value, report rule.Report) {
	readPools(v, true, report)
}

// readPools reads one pool or a list of pools; if open, `${...}` may stand for anything.
func readPools(v param.Value, open bool, report rule.Report) []Pool {
	list, isList := v.([]param.Value)
	if !isList {
		p := Pool{Slots: 1}
		ReadPool(v, &p, open, report)
		return []Pool{p}
	}
	const form = "write a list of pools with different names, as `_pool: [warehouse, {name: api, slots: 2}]`"
	if len(list) < 1 || len(list) > MaxPools {
		report(nil, fmt.Sprintf("a task can take slots of 1 to %d pools, not of %d", MaxPools, len(list)), form)
		return nil
	}
	var pools []Pool
	for i, v := range list {
		p := Pool{Slots: 1}
		at := strconv.Itoa(i)
		ReadPool(v, &p, open, func(below []string, message, hint string) { report(append([]string{at}, below...), message, hint) })
		if p.Name != "" && slices.ContainsFunc(pools, func(other Pool) bool { return other.Name == p.Name }) {
			report([]string{at, "name"}, "'_pool' names pool '"+p.Name+"' twice", "write `slots: 2` for two slots of a pool")
		}
		pools = append(pools, p)
	}
	return pools
}

// wholeOfPool reads a number from 1 to most.
func wholeOfPool(key string, v param.Value, most int64, report rule.Report) (_ int, ok bool) {
	n, err := param.AsWhole(key, v)
	if ok = err == nil && n >= 1 && n <= most; !ok {
		report([]string{key}, fmt.Sprintf("%s of a pool must be a whole number from 1 to %d: %s", key, most, param.Sample(v)), poolForm)
	}
	return int(n), ok
}

// ReadPool reads one pool's keys; if open, `${...}` may stand for anything.
func ReadPool(v param.Value, p *Pool, open bool, report rule.Report) {
	m, isMap := v.(*param.Map)
	if !isMap {
		readPoolName(nil, v, p, open, report)
		return
	}
	if !m.Has("name") {
		report(nil, "'_pool' does not name a pool", poolForm)
	}
	for key, v := range m.All() {
		if text, _ := v.(string); !open || !Computed(text) {
			readPoolKey(key, v, p, open, report)
		}
	}
	if p.Limit > 0 && p.Slots > p.Limit && p.Slots <= MaxPoolSlots {
		report([]string{"slots"}, fmt.Sprintf("a task cannot have %d slots of a pool that has a limit of %d", p.Slots, p.Limit), poolForm)
	}
}

func readPoolKey(key string, v param.Value, p *Pool, open bool, report rule.Report) {
	text, _ := v.(string)
	switch key {
	case "name":
		readPoolName([]string{key}, v, p, open, report)
	case "slots":
		p.Slots, _ = wholeOfPool(key, v, MaxPoolSlots, report)
	case "priority":
		if p.Priority, p.Given = ParsePriority(text); !p.Given {
			report([]string{key}, "unknown priority "+param.Sample(v), PriorityForm)
		}
	case "limit":
		if n, ok := wholeOfPool(key, v, MaxPoolLimit, report); ok {
			p.Limit = n
		}
	case "wait":
		var ok bool
		if p.Wait, ok = param.ParseDuration(text); !ok || p.Wait == 0 {
			report([]string{key}, "wait of _pool must be a duration, such as 1h 30m: "+param.Sample(v), poolForm)
		}
	default:
		report([]string{key}, "unknown key '"+key+"' of _pool", poolForm)
	}
}

func readPoolName(below []string, v param.Value, p *Pool, open bool, report rule.Report) {
	text, ok := v.(string)
	if n, isNumber := v.(int64); isNumber {
		text, ok = fmt.Sprint(n), true
	}
	switch {
	case open && Computed(text):
	case !ok || !poolName().MatchString(text):
		report(below, "a pool name has 1 to 100 letters, digits and - _ . and begins with a letter or digit: "+param.Sample(v), poolForm)
	}
	p.Name = text
}

// PoolKeys returns the pools of a task's `_pool`, sorted; none if any part of it is computed or invalid.
func PoolKeys(config *param.Map) []string {
	v, _ := config.Get("_pool")
	wrong := strings.Contains(param.Text(v), "${")
	var keys []string
	for _, p := range readPools(v, true, func([]string, string, string) { wrong = true }) {
		keys = append(keys, p.Key())
	}
	if wrong {
		return nil
	}
	slices.Sort(keys)
	return keys
}

// NoGroupPool explains why a group has no pools in an attempt whose file limits how many tasks run at once. A task that
// waits for slots takes one of these places, which the tasks below the group that has the slots may need.
const (
	NoGroupPool     = "a group cannot have `_pool` if `concurrency: {tasks: N}` of the file limits how many tasks run at once"
	NoGroupPoolHint = "write it at tasks, or at the top of the file that has `concurrency`"
)

// PoolOrder returns why a task cannot request slots of a pool (the first of several) below a group that has slots of
// the pools in `has` (sorted), and what to do; "" if it can.
func PoolOrder(asked string, has []string, group string) (message, hint string) {
	last := has[len(has)-1]
	switch {
	case slices.Contains(has, asked):
		return fmt.Sprintf("pool '%s' cannot be requested below %s, which already has slots of it", asked, group), "remove it: everything below that group runs with its slots, and the group may request more of them"
	case asked < last:
		return fmt.Sprintf("pool '%s' cannot be requested below %s, which has slots of pool '%s': pools are taken in alphabetical order so that tasks never deadlock", asked, group, last),
			fmt.Sprintf("let %s take slots of both pools, as a list", group)
	}
	return "", ""
}

var poolName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$`) })
