package proxy

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"zerodag/internal/env"
)

// Bill is the cost of calls, in the units of the price lists.
type Bill struct {
	Calls    map[Call]int
	Units    map[Call]float64 // of DynamoDB's operations
	Messages int              // requests to standard queues: each 64 KB counts as one
	Ordered  int              // requests to FIFO queues
	Reads    float64          // DynamoDB's read units
	Writes   float64          // DynamoDB's write units
}

func emptyBill() Bill { return Bill{Calls: map[Call]int{}, Units: map[Call]float64{}} }

// Of returns the number of calls of a service.
func (b Bill) Of(service string) int {
	n := 0
	for c, times := range b.Calls {
		if c.Service == service {
			n += times
		}
	}
	return n
}

// String lists the operations, such as "GetItem 1, Query 8".
func (b Bill) String() string {
	var list []string
	for c, times := range b.Calls {
		list = append(list, fmt.Sprint(c.Operation, " ", times))
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// Take returns the usage since the last Take, and resets it.
func (p *Proxy) Take() Bill {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.bill
	p.bill = emptyBill()
	return b
}

// Look returns the same as Take without resetting the usage.
func (p *Proxy) Look() Bill {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.bill
	b.Calls, b.Units = maps.Clone(b.Calls), maps.Clone(b.Units)
	return b
}

// chargeable matches the DynamoDB operations that return their cost.
var chargeable = regexp.MustCompile(`Items?$|^(Query|Scan)$`)

// metered makes DynamoDB report the cost of the call.
func metered(c Call, body []byte) []byte {
	var fields map[string]json.RawMessage
	if c.Service != "dynamodb" || !chargeable.MatchString(c.Operation) || json.Unmarshal(body, &fields) != nil || fields["ReturnConsumedCapacity"] != nil {
		return body
	}
	fields["ReturnConsumedCapacity"] = json.RawMessage(`"TOTAL"`)
	out, err := json.Marshal(fields)
	if err != nil {
		return body
	}
	return out
}

func (p *Proxy) count(c Call, body []byte, a answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bill.Calls[c]++
	switch c.Service {
	case "dynamodb":
		p.countUnits(c, body, a)
	case "sqs":
		requests := max(1, (payload(body)+64<<10-1)/(64<<10))
		if fifo(body) {
			p.bill.Ordered += requests
		} else {
			p.bill.Messages += requests
		}
	}
}

// countUnits adds DynamoDB's counts, except for transactions, which DynamoDB Local counts differently from AWS. A write
// refused by its condition costs one unit.
func (p *Proxy) countUnits(c Call, body []byte, a answer) {
	units := consumed(a.body)
	switch {
	case c.Operation == "TransactWriteItems" && a.status == http.StatusOK:
		units = transaction(body)
	case a.status == http.StatusBadRequest && units == 0:
		units = 1
	}
	p.bill.Units[c] += units
	switch c.Operation {
	case "GetItem", "BatchGetItem", "Query", "Scan":
		p.bill.Reads += units
	default:
		p.bill.Writes += units
	}
}

// consumed returns the consumption in a DynamoDB response, which is for one table or a list of tables.
func consumed(body []byte) float64 {
	var one struct{ ConsumedCapacity capacity }
	if json.Unmarshal(body, &one) == nil {
		return one.ConsumedCapacity.CapacityUnits
	}
	var several struct{ ConsumedCapacity []capacity }
	units := 0.0
	if json.Unmarshal(body, &several) == nil {
		for _, x := range several.ConsumedCapacity {
			units += x.CapacityUnits
		}
	}
	return units
}

type capacity struct{ CapacityUnits float64 }

// value is an attribute in DynamoDB's JSON.
type value struct{ S, N, B *string }

func (v value) size() int {
	switch {
	case v.S != nil:
		return len(*v.S)
	case v.B != nil:
		return base64.StdEncoding.DecodedLen(len(*v.B))
	case v.N != nil:
		return len(*v.N)/2 + 2
	}
	return 1
}

// transaction returns AWS's charge for a transaction: twice the units of each item, and the units of its index entries,
// which are written once. An update counts as one unit, like a small row.
func transaction(body []byte) float64 {
	var in struct {
		TransactItems []struct {
			Put *struct{ Item map[string]value }
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return math.NaN() // the call succeeded, so this is JSON
	}
	units := 0.0
	for _, x := range in.TransactItems {
		size := 0
		if x.Put != nil {
			for name, v := range x.Put.Item {
				size += len(name) + v.size()
			}
			for _, i := range env.Indexes() {
				if _, there := x.Put.Item[i.Partition]; there {
					units++
				}
			}
		}
		units += 2 * math.Ceil(float64(max(size, 1))/1024)
	}
	return units
}

// message is a message as it is sent.
type message struct {
	MessageBody       string
	MessageAttributes map[string]struct{ StringValue string }
}

// outgoing is a call that sends messages.
type outgoing struct {
	QueueUrl string
	message
	Entries []message
}

func (o outgoing) messages() []message {
	if o.Entries != nil {
		return o.Entries
	}
	return []message{o.message}
}

// payload returns the number of bytes that SQS bills for a call that sends.
func payload(body []byte) int {
	var o outgoing
	if json.Unmarshal(body, &o) != nil {
		return 0
	}
	n := 0
	for _, m := range o.messages() {
		n += len(m.MessageBody)
		for name, a := range m.MessageAttributes {
			n += len(name) + len("String") + len(a.StringValue)
		}
	}
	return n
}
