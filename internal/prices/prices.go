// Package prices lists AWS's charges, for `zerodag aws cost` and for the counts of tests and measurements: list prices
// of us-east-1 in dollars, without the free tier, functions on arm64 and machines on x86_64, which are the defaults.
// They were taken from AWS's price pages in 2026; DynamoDB's on-demand prices have applied since November 2024.
package prices

// Region is the region of these prices. Prices in other regions differ by up to 50%.
const Region = "us-east-1"

// Prices per unit.
const (
	perMillion = 1e-6

	LambdaRequest   = 0.20 * perMillion
	LambdaGBSecond  = 0.0000133334 // arm64
	LambdaX86Second = 0.0000166667 // a GB-second on x86_64
	StandardRequest = 0.40 * perMillion
	FairRequest     = 0.10 * perMillion // surcharge for requests about a message with a group in a standard queue
	FIFORequest     = 0.50 * perMillion
	WriteUnit       = 0.625 * perMillion
	ReadUnit        = 0.125 * perMillion
	ObjectWrite     = 5.00 * perMillion // PUT, POST, LIST
	ObjectRead      = 0.40 * perMillion // GET, HEAD
	APIRequest      = 1.00 * perMillion // HTTP API
	BusEvent        = 1.00 * perMillion
	Notice          = 0.50 * perMillion
	LogGB           = 0.50 // CloudWatch Logs, ingested
	AlarmMetric     = 0.10 // a month, for each metric that an alarm reads
	Dashboard       = 3.00 // a month
	KeyRequest      = 3.00 * perMillion
	Key             = 1.00 // a month, for a customer managed key

	FargateCPUHour    = 0.04048 // x86_64
	FargateGBHour     = 0.004445
	FargateARMCPUHour = 0.03238
	FargateARMGBHour  = 0.00356
	AddressHour       = 0.005 // a public IPv4 address
	CustomMetric      = 0.30  // a month, for each custom metric with a value in it

	// CostRequest is a request to Cost Explorer, charged for each page of a response.
	CostRequest = 0.01

	Attempt = 16 * perMillion // the budget of an attempt with one task, all services together
)

// The polling of an event source with an empty queue: five pollers, each waiting at most 20 seconds. Lambda reduces
// them to two, but not if the mapping has a maximum concurrency.
const (
	IdlePollers      = 5
	IdlePollersFewer = 2
	PollsPerMonth    = 30 * 24 * 3600 / 20
	MinutesPerMonth  = 30 * 24 * 60
)

// The permanent free tier of every account, each month: an account with nothing else pays only for usage beyond it.
const (
	FreeQueueRequests  = 1_000_000
	FreeInvocations    = 1_000_000
	FreeGBSeconds      = 400_000
	FreeAlarmMetrics   = 10
	FreeCustomMetrics  = 10
	FreeDashboards     = 3
	FreeLogGB          = 5
	FreeKeyRequests    = 20_000
	KeyRequestsOfTable = 30 * 24 * 12 // one every five minutes, with a customer managed key
)
