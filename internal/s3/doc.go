// Package s3 is the AWS driver for host.Blobs and host.Logs: each stores objects in one bucket.
//
// The functions open it; the runner and browsers read and write only through its links. It must never overwrite a blob,
// never keep more than one part of an upload in memory, and never create an object for a short log.
//
// # Blobs
//
// A blob is put on the condition that its key is unused, so content never changes. Content of up to 8 MB takes a single
// put; larger content is a multipart upload whose completion has the condition. Links are signed here, without a call,
// and expire no later than the signer's credentials.
//
// # Uploads
//
// The signature of a link for putting an object, or each part of one, covers its length and SHA-256: the holder can put
// only this content under this key.
//
// # Logs
//
// The log of a run is one object, logs/<site>/<attempt>/<name>, until it reaches LogOptions.Rotate bytes: then it
// continues in another object. S3 cannot append, so the whole object is put: at the end and, for live viewers, after a
// moment and then at growing intervals. A log that is short at the end is passed to LogOptions.Short and costs nothing:
// an object costs eight times as much as the engine's own write for the task.
//
// # Costs
//
//	put a blob of up to 8 MB         1 PUT           $5.00 per million
//	 ... of more                     1 for each 8 MB and 2
//	upload by link                  1 PUT, by parts 1 for each and 2
//	read a blob                      1 GET           $0.40 per million
//	log of a run, more than 1 KB     1 PUT and 1 for each moment that it was watched at
//	list the logs of an attempt      1 LIST for each 1,000, and what Short reads
package s3
