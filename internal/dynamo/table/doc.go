// Package table describes the single DynamoDB table in terms of its rows: items and their attributes, conditional
// writes, transactions, queries, lists over sharded indexes, ids, expiry, and blobs for content that is too large for
// an item.
//
// Package dynamo and its parts use it to store the records of the host. It must never interpret a row, and must never
// answer from an index if the caller queries the table.
package table
