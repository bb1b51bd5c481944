package main

// List prices of us-east-1 in dollars, without the free tier, arm64 functions. They were
// taken from AWS's price pages in 2026; the on-demand prices of DynamoDB are those since
// November 2024.
const (
	perMillion = 1e-6

	lambdaRequest   = 0.20 * perMillion
	lambdaGBSecond  = 0.0000133334 // arm64
	standardRequest = 0.40 * perMillion
	fifoRequest     = 0.50 * perMillion
	writeUnit       = 0.625 * perMillion
	readUnit        = 0.125 * perMillion
	objectWrite     = 5.00 * perMillion // PUT, POST, LIST
	objectRead      = 0.40 * perMillion // GET, HEAD
	apiRequest      = 1.00 * perMillion // HTTP API
	busEvent        = 1.00 * perMillion
	notice          = 0.50 * perMillion
	logGB           = 0.50 // CloudWatch Logs, taken in
	alarmMetric     = 0.10 // a month, for each metric that an alarm reads
	dashboard       = 3.00 // a month
	keyRequest      = 3.00 * perMillion
)

// What an event source does all day while its queue is empty: five pollers, each waiting 20 seconds
// at most. Lambda goes down to two, but not where the mapping has a maximum concurrency.
const (
	idlePollers      = 5
	idlePollersFewer = 2
	pollsPerMonth    = 30 * 24 * 3600 / 20
	minutesPerMonth  = 30 * 24 * 60
)

// What every account has for nothing, each month and for ever: an account that has nothing else
// pays only what is more.
const (
	freeQueueRequests  = 1_000_000
	freeInvocations    = 1_000_000
	freeGBSeconds      = 400_000
	freeAlarmMetrics   = 10
	freeDashboards     = 3
	freeLogGB          = 5
	freeKeyRequests    = 20_000
	keyRequestsOfTable = 30 * 24 * 12 // one each five minutes, with a key of the account
)
