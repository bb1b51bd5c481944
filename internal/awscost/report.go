package awscost

import (
	"math"
	"time"

	"zerodag/internal/account"
	"zerodag/internal/cost"
	"zerodag/internal/prices"
)

// Report is what a stage cost in a month, in US dollars.
type Report struct {
	Stage      string      `json:"stage"`
	Region     string      `json:"region"`
	Month      string      `json:"month"`
	From       time.Time   `json:"from"`
	To         time.Time   `json:"to"`
	Partial    bool        `json:"partial"` // the month has not ended
	Currency   string      `json:"currency"`
	Prices     string      `json:"prices"` // the region whose list prices are used
	Workflows  []cost.Row  `json:"workflows"`
	Attributed Amounts     `json:"attributed"` // the sum of the workflows
	Counted    CountedPart `json:"counted"`
	Fixed      []FixedPart `json:"fixed"`
	Rest       *float64    `json:"notAttributed"` // counted but not attributed to a workflow; null if nothing was counted
	Total      float64     `json:"estimatedTotal"`
	Billed     BilledPart  `json:"billed"`
	Requests   Requests    `json:"requests"`
	Notes      []string    `json:"notes"`
}

// Amounts holds what workflows cost in dollars.
type Amounts struct {
	Engine   float64 `json:"engine"`
	Machines float64 `json:"machines"`
	Dollars  float64 `json:"dollars"`
}

// CountedPart holds the usage that CloudWatch counted for the stage as a whole.
type CountedPart struct {
	Known   bool             `json:"known"`
	Why     string           `json:"why,omitempty"` // it is not known
	Items   []prices.Metered `json:"items"`
	Dollars float64          `json:"dollars"`
}

// FixedPart is something that costs the same every month.
type FixedPart struct {
	What    string  `json:"what"`
	Dollars float64 `json:"dollars"`
}

// BilledPart is the part from Cost Explorer.
type BilledPart struct {
	Known bool   `json:"known"`
	Why   string `json:"why,omitempty"` // it is not known
	account.Bill
	Cost float64 `json:"costOfRequests"` // what the requests cost, in dollars
}

// Requests counts the calls to the API for the report.
type Requests struct {
	Lists  int `json:"lists"`  // pages of attempts
	Tasks  int `json:"tasks"`  // attempts whose tasks were requested
	Unread int `json:"unread"` // attempts that were removed in the meantime or have too many tasks for one response
}

// sum adds up the parts.
func (o *Report) sum() {
	for _, row := range o.Workflows {
		o.Attributed.Engine += row.Engine
		o.Attributed.Machines += row.Machines
	}
	o.Attributed.Dollars = o.Attributed.Engine + o.Attributed.Machines
	o.Total = o.Attributed.Dollars
	if o.Counted.Known {
		rest := max(o.Counted.Dollars-o.Attributed.Engine, 0)
		o.Rest = &rest
		o.Total += rest
	}
	for _, f := range o.Fixed {
		o.Total += f.Dollars
	}
}

// round rounds dollars to a millionth, after everything has been added up.
func (o *Report) round() {
	list := []*float64{&o.Attributed.Engine, &o.Attributed.Machines, &o.Attributed.Dollars, &o.Counted.Dollars, &o.Total, &o.Billed.Dollars, &o.Billed.Cost}
	if o.Rest != nil {
		list = append(list, o.Rest)
	}
	for i := range o.Workflows {
		w := &o.Workflows[i]
		list = append(list, &w.Tasks, &w.Commands, &w.CPUHours, &w.GBHours, &w.Engine, &w.Machines, &w.Dollars)
	}
	for i := range o.Counted.Items {
		list = append(list, &o.Counted.Items[i].Dollars, &o.Counted.Items[i].Quantity)
	}
	for i := range o.Fixed {
		list = append(list, &o.Fixed[i].Dollars)
	}
	for i := range o.Billed.Lines {
		list = append(list, &o.Billed.Lines[i].Dollars)
	}
	for _, x := range list {
		*x = math.Round(*x*1e6) / 1e6
	}
}
