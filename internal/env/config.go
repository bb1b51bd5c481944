package env

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Config describes its deployment to a function. infra writes it as environment variables, and Read reads it.
type Config struct {
	Stage  string // name of the deployment: an account may have several
	Table  string
	Events string // URL of the FIFO event queue
	Tasks  string // URL of the task queue
	// URLs of the dead-letter queues.
	DeadEvents, DeadTasks string
	Archives              string // the bucket for project archives, uploads and large values
	Logs                  string // the bucket for task logs
	Secrets               string // the prefix of parameters: /zerodag/<stage>
	Key                   string // ARN of the KMS key that encrypts parameters; "" means the account's default key for SSM
	Bus                   string // name of the event bus
	Topic                 string // the ARN of the topic for notices; "" for none
	// MetricsOf lists the projects, and the workflows as PROJECT/WORKFLOW, that have separate metrics.
	MetricsOf []string
	// Gradual means that a deploy shifts calls step by step, and functions count errors by version.
	Gradual  bool
	Traces   string // where traces are sent: xray, or the URL of an OTLP receiver; "" means nowhere
	Announce string // which events are put on the bus: all, ends, failures or none

	// The visibility timeouts of received messages in the queues for events and for tasks.
	EventVisibility, TaskVisibility time.Duration

	Attempts int // the limit on unfinished attempts of a site; 0 means the default
	// KeepAttempts is how long attempts are kept after their end; 0 means forever.
	KeepAttempts time.Duration
	// KeepArchives is how long unused archives are kept after the next revision, and KeepRecords how long entries of
	// the audit log are kept; 0 means forever. KeepLogs is how long task logs are kept; 0 means unknown.
	KeepArchives, KeepRecords, KeepLogs time.Duration

	TaskLimit int           // the limit on tasks of an attempt; 0 means the default
	Lease     time.Duration // a task's lease; 0 means the default
	SmallLogs bool          // even small logs are stored in the bucket
	// TaskLogFormat is the format of lines in task logs: short or digdag.
	TaskLogFormat string
	Commands      Commands // where commands run
	OIDC          OIDC     // the provider for sign-ins
	// IAMGrants lists the roles of principals that sign requests, as ARN=ROLE or ARN=ROLE/SITE. If it is empty, every
	// principal is an owner.
	IAMGrants []string
}

// OIDC describes an identity provider; there is none if Issuer is empty.
type OIDC struct {
	Issuer  string   `json:"issuer,omitempty"`  // URL
	Client  string   `json:"client,omitempty"`  // the provider's id for the deployment
	Address string   `json:"address,omitempty"` // the address at which browsers call the API
	Name    string   `json:"name,omitempty"`    // name on the button
	Groups  string   `json:"groups,omitempty"`  // claim that lists groups
	Grants  []string `json:"grants,omitempty"`  // WHO=ROLE or WHO=ROLE/SITE
	// Secret is the parameter with the client's secret; "" means the parameter named by Keys and ClientSecret.
	Secret string `json:"secret,omitempty"`
}

// XRay is the value of Config.Traces for AWS X-Ray.
const XRay = "xray"

// CallbackPath is the path, below the API's address, to which an identity provider sends browsers back.
const CallbackPath = "/api/x/session/oidc/callback"

// SecretReference returns the parameter through which a secret of Secrets Manager is read.
func SecretReference(name string) string { return "/aws/reference/secretsmanager/" + name }

// Keys returns the folder for a stage's parameters that only some functions may read. It is outside the folder for
// secrets.
func Keys(stage string) string { return "/zerodag-keys/" + stage }

// The API reads these parameters in that folder: the key that seals the cookies of a sign-in, which it creates, and the
// secret by which the identity provider recognizes the deployment.
const (
	SealKey      = "/sessions"
	ClientSecret = "/oidc" // #nosec G101 -- it is the name of a parameter
)

// Evaluator is the name of the program that evaluates expressions, which is packaged with a function's own program.
const Evaluator = "evaluator"

// Commands describes where commands run: nowhere if neither Cluster nor Function is set.
type Commands struct {
	Cluster        string   `json:"cluster,omitempty"`
	Subnets        []string `json:"subnets,omitempty"`
	SecurityGroups []string `json:"securityGroups,omitempty"`
	PublicIP       bool     `json:"publicIp,omitempty"`
	ExecutionRole  string   `json:"executionRole,omitempty"` // ARN
	// Roles lists the AWS roles that commands may get: SITE/PROJECT=ARN is for a project, by name, SITE/*=ARN for all
	// projects of a site, and an ARN alone for all projects of all sites.
	Roles        []string `json:"roles,omitempty"`
	LogGroup     string   `json:"logGroup,omitempty"`
	Architecture string   `json:"architecture,omitempty"`
	URL          string   `json:"url,omitempty"` // the URL of the API
	Program      Object   `json:"program"`
	Keys         string   `json:"keys,omitempty"`  // the parameter with the keys that sign machine tokens
	Image        string   `json:"image,omitempty"` // the image for commands that name none
	// FetchImage is the image of the container that downloads the program; "" means the default of package fargate.
	FetchImage string            `json:"fetchImage,omitempty"`
	Tags       map[string]string `json:"tags,omitempty"` // for machines and task definitions
	CPU        int               `json:"cpu,omitempty"`  // 1024 means one vCPU
	Memory     int               `json:"memory,omitempty"`
	Spot       bool              `json:"spot,omitempty"`
	AllowSpot  bool              `json:"allowSpot,omitempty"` // single commands may request Spot
	Function   Function          `json:"function,omitzero"`
	Microvms   Microvms          `json:"microvms,omitzero"`
}

// Function is the function that runs commands; there is none if Name is empty.
type Function struct {
	Name   string `json:"name"`
	Memory int    `json:"memory"` // MiB
}

// Microvms describes the Lambda MicroVMs in which commands run; there are none if Image is empty.
type Microvms struct {
	Image     string `json:"image"`               // ARN
	Memory    int    `json:"memory"`              // minimum MiB that are billed
	Connector string `json:"connector,omitempty"` // ARN of the network connector; "" means the internet
	Default   bool   `json:"default,omitempty"`   // for commands that name no executor
}

// Object is an object in S3 with its required content.
type Object struct {
	Bucket string `json:"bucket,omitempty"`
	Key    string `json:"key,omitempty"`
	SHA256 string `json:"sha256,omitempty"` // hex
}

// field is one environment variable.
type field struct {
	name  string
	write func(*Config) string
	read  func(*Config, string) error
	// optional means that the variable may be missing, which leaves the zero value. Every variable that a release adds
	// must be optional, because CloudFormation updates a function's program first and its variables afterwards.
	optional bool
}

func fields() []field {
	text := func(name string, of func(*Config) *string) field {
		return field{name: "ZERODAG_" + name, write: func(c *Config) string { return *of(c) },
			read: func(c *Config, s string) error { *of(c) = s; return nil }}
	}
	number := func(name string, of func(*Config) *int) field {
		return field{name: "ZERODAG_" + name, write: func(c *Config) string { return strconv.Itoa(*of(c)) },
			read: func(c *Config, s string) (err error) { *of(c), err = strconv.Atoi(s); return err }}
	}
	duration := func(name string, of func(*Config) *time.Duration) field {
		return field{name: "ZERODAG_" + name, write: func(c *Config) string { return of(c).String() },
			read: func(c *Config, s string) (err error) { *of(c), err = time.ParseDuration(s); return err }}
	}
	return []field{
		text("STAGE", func(c *Config) *string { return &c.Stage }),
		text("TABLE", func(c *Config) *string { return &c.Table }),
		text("EVENTS", func(c *Config) *string { return &c.Events }),
		text("TASKS", func(c *Config) *string { return &c.Tasks }),
		text("DEAD_EVENTS", func(c *Config) *string { return &c.DeadEvents }),
		text("DEAD_TASKS", func(c *Config) *string { return &c.DeadTasks }),
		text("ARCHIVES", func(c *Config) *string { return &c.Archives }),
		text("LOGS", func(c *Config) *string { return &c.Logs }),
		text("SECRETS", func(c *Config) *string { return &c.Secrets }),
		list("METRICS_OF", func(c *Config) *[]string { return &c.MetricsOf }),
		{name: "ZERODAG_GRADUAL", write: func(c *Config) string {
			if !c.Gradual {
				return ""
			}
			return "true"
		}, read: func(c *Config, s string) error { c.Gradual = s != ""; return nil }, optional: true},
		{name: "ZERODAG_TRACES", write: func(c *Config) string { return c.Traces }, read: func(c *Config, s string) error { c.Traces = s; return nil }, optional: true},
		{name: "ZERODAG_KMS_KEY", write: func(c *Config) string { return c.Key }, read: func(c *Config, s string) error { c.Key = s; return nil }, optional: true},
		text("BUS", func(c *Config) *string { return &c.Bus }),
		text("TOPIC", func(c *Config) *string { return &c.Topic }),
		text("ANNOUNCE", func(c *Config) *string { return &c.Announce }),
		number("ATTEMPT_LIMIT", func(c *Config) *int { return &c.Attempts }),
		number("TASK_LIMIT", func(c *Config) *int { return &c.TaskLimit }),
		duration("LEASE", func(c *Config) *time.Duration { return &c.Lease }),
		notNegative(duration("KEEP_ATTEMPTS", func(c *Config) *time.Duration { return &c.KeepAttempts })),
		notNegative(duration("KEEP_ARCHIVES", func(c *Config) *time.Duration { return &c.KeepArchives })),
		notNegative(duration("KEEP_RECORDS", func(c *Config) *time.Duration { return &c.KeepRecords })),
		notNegative(duration("KEEP_LOGS", func(c *Config) *time.Duration { return &c.KeepLogs })),
		duration("EVENT_VISIBILITY", func(c *Config) *time.Duration { return &c.EventVisibility }),
		duration("TASK_VISIBILITY", func(c *Config) *time.Duration { return &c.TaskVisibility }),
		{name: "ZERODAG_SMALL_LOGS", write: func(c *Config) string { return strconv.FormatBool(c.SmallLogs) },
			read: func(c *Config, s string) (err error) { c.SmallLogs, err = strconv.ParseBool(s); return err }},
		{name: "ZERODAG_TASK_LOG_FORMAT", write: func(c *Config) string { return c.TaskLogFormat },
			read: func(c *Config, s string) error { c.TaskLogFormat = s; return nil }},
		{name: "ZERODAG_COMMANDS", write: func(c *Config) string { return asJSON(c.Commands) },
			read: func(c *Config, s string) error { return json.Unmarshal([]byte(s), &c.Commands) }},
		list("IAM_GRANTS", func(c *Config) *[]string { return &c.IAMGrants }),
		{name: "ZERODAG_OIDC", write: func(c *Config) string { return asJSON(c.OIDC) },
			read: func(c *Config, s string) error { return json.Unmarshal([]byte(s), &c.OIDC) }},
	}
}

// notNegative makes a field refuse a duration below zero.
func notNegative(f field) field {
	read := f.read
	f.read = func(c *Config, s string) error {
		if strings.HasPrefix(s, "-") {
			return fmt.Errorf("%s is negative", s)
		}
		return read(c, s)
	}
	return f
}

// list returns an optional variable that holds a list of strings.
func list(name string, of func(*Config) *[]string) field {
	return field{name: "ZERODAG_" + name, write: func(c *Config) string {
		if len(*of(c)) == 0 {
			return ""
		}
		return asJSON(*of(c))
	}, read: func(c *Config, s string) error {
		if s == "" {
			return nil
		}
		return json.Unmarshal([]byte(s), of(c))
	}, optional: true}
}

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("env: encode settings: %v", err)) // strings and numbers: cannot fail
	}
	return string(text)
}

// Variables returns the environment of every function.
func (c Config) Variables() map[string]string {
	m := map[string]string{}
	for _, f := range fields() {
		if text := f.write(&c); text != "" || !f.optional {
			m[f.name] = text
		}
	}
	return m
}

// Read reads the environment. It fails if a required variable is missing: a function without its table is a mistake in
// the deployment.
func Read(lookup func(string) (string, bool)) (Config, error) {
	var c Config
	for _, f := range fields() {
		text, ok := lookup(f.name)
		if !ok && !f.optional {
			return Config{}, fmt.Errorf("read environment: %s is not set: deploy the function with infra", f.name)
		}
		if err := f.read(&c, text); err != nil {
			return Config{}, fmt.Errorf("read environment: %s: %w", f.name, err)
		}
	}
	return c, nil
}
