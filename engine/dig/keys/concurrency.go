package keys

import (
	"regexp"
	"slices"
	"strings"

	"zerodag/engine/dig/rule"
	"zerodag/engine/param"
)

// ConcurrencyKey is the key at the top of a file that limits how many attempts of the workflow may run at once.
const ConcurrencyKey = "concurrency"

// The fate of an attempt beyond the limit (Concurrency.OnLimit).
const (
	LimitWait    = "wait"    // it waits for its turn
	LimitSkip    = "skip"    // it does not start
	LimitLatest  = "latest"  // it waits, and attempts that waited before it are canceled
	LimitReplace = "replace" // it waits, and earlier attempts are killed unless their priority is higher
)

// MaxConcurrency is the highest `attempts` of `concurrency`: each attempt takes a slot of a pool.
const MaxConcurrency = 1000

// maxTasksAtOnce exceeds the number of tasks in any attempt.
const maxTasksAtOnce = 1_000_000

// Concurrency holds a file's `concurrency`: how many attempts of the workflow may run at once, what happens to further
// ones, and how many tasks of each attempt may run at once.
type Concurrency struct {
	Attempts   int    // 1 to MaxConcurrency; 0: any number
	Tasks      int    // how many tasks of one attempt may run at once; 0: any number
	OnLimit    string // one of the constants above
	Key        string // attempts with the same key are counted together; it may contain parameters
	MaxWaiting int    // with this many waiting, a start is refused; 0: no limit
}

const concurrencyForm = "write `concurrency: {attempts: 1, on_limit: wait}`"

func concurrencyKey() Key {
	return Key{
		Name: ConcurrencyKey, Where: AtTop,
		Doc:   "how many attempts of the workflow run at once, what happens beyond that, and how many tasks of an attempt run at once",
		Check: checkConcurrency,
		Schema: func(rule.Meaning) rule.Schema {
			return rule.Schema{}
		},
	}
}

// ConcurrencyOf reads `concurrency` of a file in its stored form; the zero value if there is none.
func ConcurrencyOf(config *param.Map) Concurrency {
	var c Concurrency
	if language, _ := Gate(config); language.Level == 0 {
		return c
	}
	if v, there := config.Get(ConcurrencyKey); there {
		ReadConcurrency(v, &c, func([]string, string, string) {})
	}
	return c
}

// checkConcurrency requires limits that a start can apply.
func checkConcurrency(_ string, v param.Value, report rule.Report) {
	ReadConcurrency(v, &Concurrency{}, report)
}

// ReadConcurrency reads an unevaluated `concurrency` into c, and reports what is wrong with it.
func ReadConcurrency(v param.Value, c *Concurrency, report rule.Report) {
	m, ok := v.(*param.Map)
	if !ok {
		report(nil, "Parameter 'concurrency' must be an object", concurrencyForm)
		return
	}
	c.OnLimit = LimitWait
	for key, v := range m.All() {
		fault := func(message, hint string) { report([]string{key}, message, hint) }
		switch key {
		case "attempts":
			c.Attempts = rule.WholeFrom1(v, MaxConcurrency, "attempts of concurrency", fault)
		case "tasks":
			c.Tasks = rule.WholeFrom1(v, maxTasksAtOnce, "tasks of concurrency", fault)
		case "max_waiting":
			c.MaxWaiting = rule.WholeFrom1(v, 1_000_000, "max_waiting of concurrency", fault)
		case "on_limit":
			words := []string{LimitWait, LimitSkip, LimitLatest, LimitReplace}
			text, _ := v.(string)
			if !slices.Contains(words, text) {
				fault("on_limit of concurrency cannot be "+param.Sample(v), "write one of "+strings.Join(words, ", "))
			}
			c.OnLimit = text
		case "key":
			c.Key = readConcurrencyKey(v, fault)
		default:
			fault("unknown key '"+key+"' of concurrency", concurrencyForm)
		}
	}
	switch {
	case !m.Has("attempts") && !m.Has("tasks"):
		report(nil, "concurrency limits neither attempts nor tasks", concurrencyForm)
	case !m.Has("attempts") && m.Len() > 1:
		report(nil, "concurrency has no attempts, which its other keys refer to", concurrencyForm)
	case m.Has("max_waiting") && c.OnLimit != LimitWait:
		report([]string{"max_waiting"}, "max_waiting of concurrency has no effect: with `on_limit: "+c.OnLimit+"` no attempt waits", "remove it, or write `on_limit: wait`")
	}
}

func keyReference() *regexp.Regexp { return regexp.MustCompile(`\$\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}`) }

// notKnownAtStart returns variables of an attempt that do not exist before it is started.
func notKnownAtStart() []string {
	return []string{"session_id", "session_uuid", "attempt_id", "retry_attempt_name", "task_name", "project_id", "timezone"}
}

func readConcurrencyKey(v param.Value, fault func(message, hint string)) string {
	const hint = "write `key: ${customer}`, with a start parameter or session_time, session_date ... instead of customer"
	text, ok := v.(string)
	if !ok || text == "" {
		fault("key of concurrency must be a string: "+param.Sample(v), hint)
		return ""
	}
	if strings.Contains(keyReference().ReplaceAllString(text, ""), "${") {
		fault("key of concurrency may only name parameters, because it is evaluated before the attempt starts: "+param.Sample(v), hint)
		return ""
	}
	for _, m := range keyReference().FindAllStringSubmatch(text, -1) {
		if slices.Contains(notKnownAtStart(), m[1]) {
			fault("'"+m[1]+"' is not known when key of concurrency is evaluated, before the attempt starts", hint)
		}
	}
	return text
}

// KeyFor inserts a start's parameters into a key. It returns an error if one is missing.
func (c Concurrency) KeyFor(vars *param.Map) (string, error) {
	var missing error
	key := keyReference().ReplaceAllStringFunc(c.Key, func(reference string) string {
		name := keyReference().FindStringSubmatch(reference)[1]
		v, given := vars.Get(name)
		if !given && missing == nil {
			missing = param.Errorf("`concurrency: {key: %s}` of the workflow needs the parameter '%s', which this start does not set", c.Key, name)
		}
		if text, err := param.AsString(name, v); err == nil {
			return text
		}
		return param.Text(v)
	})
	return key, missing
}
