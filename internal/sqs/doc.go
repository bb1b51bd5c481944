// Package sqs is the AWS driver for host.Queue: "events" is a FIFO queue in high-throughput mode, grouped by attempt,
// and "tasks" is a standard queue, grouped by project, which makes it fair.
//
// The functions use it: they send, extend and release; Lambda itself receives and deletes. Receive and Delete are for
// tests and for a node that runs its loops against AWS. It must never parse a message.
//
// # How SQS differs
//
// Leases and delays are in whole seconds, rounded up, so nothing comes early. A message can be delayed by up to 15
// minutes, and not at all in a FIFO queue: a message that is due later goes to Options.Later, from where the tick sends
// it. A Send, which should add all messages or none, is made in calls of ten messages; failed messages are sent again,
// and if one fails permanently, the others stay sent. A FIFO queue refuses a repeated ID for five minutes, whether or
// not its message still exists; a standard queue never does, and may deliver a message twice anyway.
//
// # Leases
//
// An old SQS receipt may still delete or extend a message that another receiver now has. So this process remembers the
// end of each of its leases, and makes no call with a lease that has ended.
//
// # Costs
//
// Requests cost $0.40 per million, $0.50 for FIFO, and every 64 KB count as one.
//
//	send           1 for each 10 messages or 256 KB
//	receive        1, and 3 a minute while there is nothing
//	extend         1
//	delete         1
//	release        1
//	redrive        2 for each message, and 1 for each 10
//	look at dead   2 for each 10, and 1
package sqs
