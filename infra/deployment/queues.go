package deployment

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"
)

// Queue settings (invariants.md 4.12): messages wait as long as SQS allows, and messages that fail twenty times are put
// aside; the engine counts lost tasks.
const (
	keptDays    = 14
	maxReceives = 20
	maxMessage  = 1 << 20 // bytes; queues created before August 2025 have a quarter of that unless it is set
)

// The visibility timeouts of received messages. The functions get both as variables: if a message was invisible for
// that long, no receiver has begun its work.
const (
	eventVisibility = time.Minute
	taskVisibility  = 15 * time.Minute // Lambda requires at least the agent's time limit
)

// createQueues creates the queue of events, first in first out for each attempt, the queue of tasks, whose visibility
// timeout is the lease, and the queue for starts of workflows that the tick could not handle.
func (d *Deployment) createQueues() {
	d.events = d.queue("Events", awssqs.QueueProps{
		Fifo:                jsii.Bool(true),
		VisibilityTimeout:   seconds(int(eventVisibility.Seconds())),
		DeduplicationScope:  awssqs.DeduplicationScope_MESSAGE_GROUP,
		FifoThroughputLimit: awssqs.FifoThroughputLimit_PER_MESSAGE_GROUP_ID,
	})
	d.tasks = d.queue("Tasks", awssqs.QueueProps{VisibilityTimeout: seconds(int(taskVisibility.Seconds()))})
	starts := awssqs.QueueProps{RetentionPeriod: days(keptDays), MaxMessageSizeBytes: jsii.Number(maxMessage), EnforceSSL: jsii.Bool(true)}
	d.encrypt(&starts)
	d.starts = awssqs.NewQueue(d.scope, jsii.String("StartsDead"), &starts)
}

// dataKeyHours is how long SQS reuses a data key. KMS bills each new one.
const dataKeyHours = 1

func (d *Deployment) encrypt(p *awssqs.QueueProps) {
	p.Encryption = awssqs.QueueEncryption_SQS_MANAGED
	if d.key != nil {
		p.Encryption, p.EncryptionMasterKey, p.DataKeyReuse = awssqs.QueueEncryption_KMS, d.key, awscdk.Duration_Hours(jsii.Number(dataKeyHours))
	}
}

func (d *Deployment) queue(id string, p awssqs.QueueProps) queue {
	p.RetentionPeriod, p.EnforceSSL = days(keptDays), jsii.Bool(true)
	p.MaxMessageSizeBytes = jsii.Number(maxMessage)
	d.encrypt(&p)
	dead := p
	q := queue{dead: awssqs.NewQueue(d.scope, jsii.String(id+"Dead"), &dead)}
	p.DeadLetterQueue = &awssqs.DeadLetterQueue{Queue: q.dead, MaxReceiveCount: jsii.Number(maxReceives)}
	q.live = awssqs.NewQueue(d.scope, jsii.String(id), &p)
	return q
}
