// Package cloud wires the AWS drivers to a host, as package embedded wires those of one machine.
//
// The functions use it, each with the operators that it runs. It must never link code for single-node deployments, an
// operator or the JavaScript engine: a function's size determines how long its first start takes
// (docs/adr/0021-what-a-function-links.md).
package cloud

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"

	"zerodag/engine/param"
	"zerodag/events"
	"zerodag/internal/dynamo"
	"zerodag/internal/env"
	"zerodag/internal/evaluators"
	"zerodag/internal/eventbridge"
	"zerodag/internal/files"
	"zerodag/internal/host"
	"zerodag/internal/httpclient"
	"zerodag/internal/node"
	"zerodag/internal/notice"
	"zerodag/internal/projectfiles"
	"zerodag/internal/s3"
	"zerodag/internal/sandbox"
	"zerodag/internal/sitesecret"
	"zerodag/internal/sns"
	"zerodag/internal/sqs"
	"zerodag/internal/ssm"
	"zerodag/internal/tasklog"
	"zerodag/internal/tick"
	"zerodag/operators"
)

// Engine is a function's part of a deployment.
type Engine struct {
	*node.Node
	Config env.Config
	DB     *dynamo.DB
	Blobs  *s3.Blobs
	Events *sqs.Queue
	Tasks  *sqs.Queue
	Ticker *tick.Ticker
	Logger *slog.Logger

	attempts *attemptMetrics
	refused  atomic.Int64 // responses that report a server error (5xx)
	dead     [2]sqs.DeadLetters
	pool     *evaluators.Pool
	lease    time.Duration // a task's lease
	// Sandbox runs commands; nil if the deployment has no place for them.
	Sandbox *sandbox.Service
	// Function runs short commands; nil if the deployment has no such function.
	Function *sandbox.Function
	// sealKey is the key that seals the cookies of a sign-in; clientSecret is the deployment's secret at the identity
	// provider.
	sealKey, clientSecret *keptParameter
}

// pack is the maximum number of tasks that become ready together and share one message (invariants.md 4.9).
const pack = 25

// An agent has 15 minutes. A run that it begins may take ten of them, and after three minutes it leaves further tasks
// to other agents.
const (
	processTime = 15 * time.Minute
	runTime     = 10 * time.Minute
	chainTime   = 3 * time.Minute
)

// maxArchive is the maximum size of an archive in a slot in bytes; its unpacked size has the same limit as on a server.
// infra gives functions that unpack archives enough space.
const maxArchive = 500 << 20

// Open creates everything that all calls of a function share. registry contains the operators that the function runs,
// and is nil if it runs none, so that a function links only the operators that it needs.
func Open(ctx context.Context, registry operators.Registry) (*Engine, error) {
	config, err := env.Read(os.LookupEnv)
	if err != nil {
		return nil, err
	}
	account, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("find region and credentials: %w", err)
	}
	return wire(config, account, registry)
}

// wall is the wall-clock time: Go's monotonic clock stops while a process is frozen by Lambda, so cached data would
// seem recent.
func wall() time.Time { return time.Now().Round(0) }

func wire(config env.Config, account aws.Config, registry operators.Registry) (*Engine, error) {
	e := &Engine{Config: config, attempts: newAttemptMetrics(config), Logger: slog.New(slog.NewJSONHandler(os.Stderr, nil)).With("stage", config.Stage)}
	e.Blobs = s3.NewBlobs(account, config.Archives)
	timers := dynamo.NewTimers(account, config.Table)
	e.Events = sqs.New(account, sqs.Options{Name: "events", URL: config.Events, FIFO: true, Later: timers})
	e.Tasks = sqs.New(account, sqs.Options{Name: "tasks", URL: config.Tasks, Now: wall, Later: timers, Visibility: config.TaskVisibility})
	e.DB = dynamo.New(account, dynamo.Options{Table: config.Table, Blobs: e.Blobs, Events: e.Events})
	logs := s3.LogOptions{Bucket: config.Logs, AgentID: "lambda", Form: tasklog.Form(config.TaskLogFormat)}
	if !config.SmallLogs {
		logs.Short = e.DB
	}
	evaluator, err := evaluatorPath()
	if err != nil {
		return nil, err
	}
	workspaces, err := files.NewWorkspaces(filepath.Join(os.TempDir(), "zerodag"), 0, projectfiles.Limits{Compressed: maxArchive}, func(ctx context.Context, key string) (io.ReadCloser, error) {
		r, _, err := e.Blobs.Open(ctx, key)
		return r, err
	})
	if err != nil {
		return nil, err
	}
	logStore := s3.NewLogs(account, logs)
	secrets := sitesecret.Secrets{Secrets: ssm.New(account, ssm.Options{Prefix: config.Secrets, KeyID: config.Key}), Projects: e.DB}
	var notices host.Notices
	if config.Topic != "" {
		notices = notice.New(sns.New(account, sns.Options{ARN: config.Topic, Stage: config.Stage}), notice.Options{Now: time.Now})
	}
	limits := host.Limits{Attempts: config.Attempts, Tasks: config.TaskLimit, Lease: config.Lease, Heartbeat: config.Lease / 3, Pack: pack, RunTime: runTime, ProcessTime: processTime, ChainTime: chainTime, Looks: 16,
		KeepAttempts: config.KeepAttempts, KeepArchives: config.KeepArchives, KeepRecords: config.KeepRecords, KeepLogs: config.KeepLogs}.WithDefaults()
	e.lease = limits.Lease
	tasks := network(account)
	e.pool = evaluators.New(evaluator)
	e.Node = node.New(node.Options{
		Ports: host.Ports{
			Log: e.DB, ShortLogs: e.DB, Events: e.Events, Tasks: e.Tasks, Kept: timers,
			Projects: e.DB, Workflows: e.DB, Schedules: e.DB, Attempts: e.DB, Sessions: e.DB, Backfills: e.DB, Pools: e.DB, Semaphore: e.DB,
			Retention: e.DB, Blobs: e.Blobs, Secrets: secrets, Logs: logStore,
			Unpack:  func(ctx context.Context, key string) (host.Archive, error) { return workspaces.Archive(ctx, key) },
			Notices: notices, Bus: eventbridge.New(account, eventbridge.Options{Name: config.Bus, Topics: topics(config.Announce)}),
			Traces: traces(account, config), Observer: e.attempts, Limits: limits, Now: wall, Logger: e.Logger,
		},
		Runtime: host.Runtime{
			Registry: registry, Evaluator: e.pool, Store: e.DB.ParamStore, HTTP: &httpclient.Clients{Network: tasks}, Network: tasks, Config: operatorSettings(),
			Workspace: func(ctx context.Context, id operators.Identity, w host.Workflow) (host.Workspace, error) {
				s := workspaces.Of(ctx, w.Archive, id, nil)
				return host.Workspace{Files: s, Commands: e.commands(id, w.Archive), Leave: s.Leave, Wrong: s.Wrong}, nil
			},
			Prewarm: e.prewarm,
		},
		Shared: true, FiredByMessages: true,
	})
	e.dead = [2]sqs.DeadLetters{e.Events.DeadLetters(config.DeadEvents), e.Tasks.DeadLetters(config.DeadTasks)}
	e.Ticker = &tick.Ticker{Node: e.Node, Horizon: e.DB, Timers: timers, Queues: map[string]host.Queue{"events": e.Events, "tasks": e.Tasks},
		Dead: []host.DeadLetters{e.dead[0], e.dead[1]}, Daily: e.daily(limits), Now: wall, Logger: e.Logger}
	e.sealKey, e.clientSecret = newSealKey(account, config), newClientSecret(account, config)
	links := s3.Links{Blobs: e.Blobs, Logs: logStore}
	e.Sandbox = e.sandbox(account, config.Commands, links, secrets)
	e.Function = e.function(account, config.Commands.Function, links)
	return e, nil
}

// daily returns the tick's daily chores. Data that is kept forever needs none.
func (e *Engine) daily(l host.Limits) (list []tick.Chore) {
	if l.KeepAttempts > 0 {
		list = append(list, tick.Chore{Reached: host.Forgetting, Done: host.Forgot, Do: e.Forget})
	}
	if l.KeepArchives > 0 {
		list = append(list, tick.Chore{Reached: host.ForgettingArchives, Done: host.ForgotArchives, Do: e.ForgetArchives})
	}
	if l.KeepRecords > 0 {
		list = append(list, tick.Chore{Reached: host.ForgettingRecords, Done: host.ForgotRecords, Do: e.ForgetRecords})
	}
	return list
}

// backgroundTime is how long a call waits at its end for notices and traces that are under way.
const backgroundTime = 5 * time.Second

// awaitBackground waits for notices and traces that are under way before a call returns, because its context then ends
// and Lambda freezes the process.
func (e *Engine) awaitBackground(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, backgroundTime)
	defer cancel()
	e.AwaitBackground(ctx)
}

// evaluatorPath returns the path of the program that evaluates expressions, next to the function's own program, which
// does not contain the JavaScript engine.
func evaluatorPath() (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("locate this executable: %w", err)
	}
	return filepath.Join(filepath.Dir(program), env.Evaluator), nil
}

// operatorSettings returns the settings that operators find below "config.". The role of a function belongs to the
// engine: it writes the log of every attempt and reads the secrets of every project, so no task may call AWS with it.
func operatorSettings() *param.Map { return param.New("aws", param.New("environment", false)) }

// topics returns the topics that the given value of the setting puts on the bus.
func topics(announce string) []events.Topic {
	failures := []events.Topic{events.AttemptFailed, events.SLAMissed, events.StartRefused}
	ends := append(failures, events.AttemptSucceeded, events.AttemptKilled)
	switch announce {
	case "failures":
		return failures
	case "ends":
		return ends
	case "all":
		return append(ends, events.AttemptStarted)
	}
	return nil
}
