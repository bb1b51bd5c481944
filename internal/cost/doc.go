// Package cost estimates the cost of attempts on an AWS stage, from their tasks and from list prices.
//
// `zerodag aws cost` uses it. It is pure: it makes no calls, does not read the clock and rounds nothing.
package cost
