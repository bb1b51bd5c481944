package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"zerodag/integration/localstack"
	"zerodag/integration/localstack/proxy"
	"zerodag/internal/env"
)

// localAWS returns the configuration of clients for LocalStack.
func localAWS() aws.Config {
	return aws.Config{Region: localstack.Region, BaseEndpoint: aws.String(localstack.Endpoint()), Credentials: credentials.NewStaticCredentialsProvider("test", "test", "")}
}

func median(times []time.Duration) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[len(times)/2]
}

func repeat(n int, f func(i int) error) (time.Duration, error) {
	var all []time.Duration
	for i := range n {
		began := time.Now()
		if err := f(i); err != nil {
			return 0, err
		}
		all = append(all, time.Since(began))
	}
	return median(all), nil
}

// bare holds the times of the calls that edges and hops consist of.
type bare struct{ put, query, send, hop time.Duration }

// measureBare makes the calls directly through the proxy, as a function does.
func (b *bench) measureBare(ctx context.Context) (t bare, err error) {
	config, err := b.Config(ctx)
	if err != nil {
		return t, err
	}
	c := localAWS()
	c.BaseEndpoint = &b.proxy.URL
	db, queue := dynamodb.NewFromConfig(c), sqs.NewFromConfig(c)
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	id := fmt.Sprint("bench#", time.Now().UnixNano())
	if t.put, err = repeat(50, func(i int) error {
		_, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &config.Table, ConditionExpression: aws.String("attribute_not_exists(" + env.PartitionKey + ")"),
			Item: map[string]types.AttributeValue{env.PartitionKey: text(id), env.SortKey: text(fmt.Sprint(i)), "c": &types.AttributeValueMemberB{Value: make([]byte, 300)}}})
		return err
	}); err != nil {
		return t, err
	}
	if t.query, err = repeat(50, func(int) error {
		_, err := db.Query(ctx, &dynamodb.QueryInput{TableName: &config.Table, ConsistentRead: aws.Bool(true), Limit: aws.Int32(5), KeyConditionExpression: aws.String(env.PartitionKey + " = :p"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":p": text(id)}})
		return err
	}); err != nil {
		return t, err
	}
	var hops []time.Duration
	if _, err = repeat(20, func(i int) error {
		arrived := b.arrivals()
		began := time.Now()
		if err := send(ctx, queue, config.Tasks, fmt.Sprintf("1/%d.1", i)); err != nil { // of an attempt that does not exist, so it is dropped
			return err
		}
		hops = append(hops, b.arrived(arrived).Sub(began))
		return b.settled(ctx)
	}); err != nil {
		return t, err
	}
	t.hop = median(hops)
	own, err := queue.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String(localstack.Name())})
	if err != nil {
		return t, err
	}
	defer queue.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: own.QueueUrl})
	t.send, err = repeat(50, func(i int) error { return send(ctx, queue, *own.QueueUrl, fmt.Sprint("1/", i, ".1")) })
	return t, err
}

// send sends an order to run a task.
func send(ctx context.Context, client *sqs.Client, queue, id string) error {
	name := sqstypes.MessageAttributeValue{DataType: aws.String("String"), StringValue: &id}
	_, err := client.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &queue, MessageBody: aws.String(`{"v":1,"runs":[{"task":2,"d":1}]}`),
		MessageAttributes: map[string]sqstypes.MessageAttributeValue{"id": name}})
	return err
}

// arrivals counts the first calls of agents, each of which begins by extending its lease.
func (b *bench) arrivals() int {
	return b.proxy.Look().Calls[proxy.Call{Service: "sqs", Operation: "ChangeMessageVisibility"}]
}

// arrived waits for the next arrival.
func (b *bench) arrived(before int) time.Time {
	for deadline := time.Now().Add(time.Minute); b.arrivals() == before && time.Now().Before(deadline); {
		time.Sleep(200 * time.Microsecond)
	}
	return time.Now()
}

// latencies prints the time of an edge and a hop next to the time of their bare calls.
func (b *bench) latencies(ctx context.Context, chain, inline result) error {
	t, err := b.measureBare(ctx)
	if err != nil {
		return err
	}
	edges := gaps(chain)
	first, err := b.firstTask(ctx)
	if err != nil {
		return err
	}
	ms := func(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }
	fmt.Println("\nlatency on LocalStack, medians (the goals on AWS are 10 ms for an edge in a chain and 40 ms for a hop)")
	w := table("what", "took", "made of")
	row(w, "PutItem with a condition", ms(t.put), "bare")
	row(w, "Query", ms(t.query), "bare")
	row(w, "SendMessage", ms(t.send), "bare")
	row(w, "SendMessage to the first call of the function behind the queue", ms(t.hop), "bare, a lease extended")
	row(w, "edge in a chain of http>", ms(median(edges)), fmt.Sprintf("one PutItem (%s) and the work", ms(t.put)))
	per := inline.functions["executor"].took / time.Duration(inline.tasks*max(inline.functions["executor"].times, 1))
	row(w, "edge in a chain of echo>", ms(per), "no separate call")
	row(w, "start acknowledged to first task", ms(first), fmt.Sprintf("two hops (%s), a Query and a PutItem (%s)", ms(2*t.hop), ms(t.query+t.put)))
	return w.Flush()
}

// gaps returns the times between the calls of a chain's tasks, but not between attempts.
func gaps(r result) []time.Duration {
	var list []time.Duration
	for i := 1; i < len(r.calls); i++ {
		if i%r.tasks != 0 {
			list = append(list, r.calls[i].Sub(r.calls[i-1]))
		}
	}
	return list
}

// firstTask returns the time from the response to a start to the beginning of its task.
func (b *bench) firstTask(ctx context.Context) (time.Duration, error) {
	p, err := b.Push(ctx, fmt.Sprintf("hop%d", time.Now().UnixNano()), map[string]string{"main.dig": "+a:\n  http>: " + b.works.url + "\n"})
	if err != nil {
		return 0, err
	}
	var all []time.Duration
	for range 15 {
		b.session = b.session.Add(time.Minute)
		b.works.take()
		if _, err := b.Start(ctx, p.Workflows["main"], b.session); err != nil {
			return 0, err
		}
		began := time.Now()
		if err := b.settled(ctx); err != nil {
			return 0, err
		}
		if calls := b.works.take(); len(calls) > 0 {
			all = append(all, calls[0].Sub(began))
		}
	}
	return median(all), nil
}
