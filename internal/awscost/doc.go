// Package awscost reports the cost of a stage on AWS for one month: the estimate for each workflow, the usage of the
// whole stage as CloudWatch counted it, and the bill.
//
// Package cost prices attempts and package account queries AWS. This package queries the API, combines the results and
// prints them. It never changes anything in an account.
package awscost
