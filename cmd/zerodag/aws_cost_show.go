package main

import (
	"fmt"
	"math"
	"strconv"

	"zerodag/internal/account"
	"zerodag/internal/cost"
)

// print shows a report to people.
func (r *costCommand) print(p printer, o *costReport) {
	until := ""
	if o.Partial {
		until = " until " + o.To.Format("2006-01-02 15:04")
	}
	p.line("Stage %s in %s, %s%s (UTC), in USD by list prices of %s", o.Stage, o.Region, o.Month, until, o.Prices)
	p.line("")
	p.line("Estimated: attempts by workflow")
	r.section(p, workflowTable(o.Workflows), "no attempts were created in this month")
	p.line("Counted by CloudWatch: the engine of the whole stage")
	if o.Counted.Known {
		r.section(p, countedTable(o), "")
	} else {
		p.line("unknown: %s", o.Counted.Why)
		p.line("")
	}
	if len(o.Fixed) > 0 {
		p.line("By the month")
		t := newTable(column{title: "WHAT", name: true}, column{title: "USD"})
		for _, f := range o.Fixed {
			t.add(f.What, dollars(f.Dollars))
		}
		r.section(p, t, "")
	}
	p.line("Together")
	t := newTable(column{title: "WHAT", name: true}, column{title: "USD"})
	t.add("workflows: engine (estimated)", dollars(o.Attributed.Engine))
	t.add("workflows: machines (estimated)", dollars(o.Attributed.Machines))
	rest := "unknown"
	if o.Rest != nil {
		rest = dollars(*o.Rest)
	}
	t.add("not attributed: counted, less the engine of workflows", rest)
	t.add("total (estimated)", dollars(o.Total))
	r.section(p, t, "")
	p.line("Billed by AWS")
	if o.Billed.Known {
		r.section(p, billedTable(o), "")
	} else {
		p.line("unknown: %s", o.Billed.Why)
	}
	if o.Billed.Requests > 0 {
		p.line("Requests to Cost Explorer: %d, which cost $%.2f", o.Billed.Requests, o.Billed.Cost)
	}
	p.line("")
	for _, note := range o.Notes {
		p.line("- %s", note)
	}
}

// section writes a table, and what there is to say where it is empty.
func (r *costCommand) section(p printer, t *table, none string) {
	if len(t.rows) == 0 {
		p.line("%s", none)
	} else {
		columns, ink := look(r.out)
		p.WriteString(t.text(r.format == wideForm, columns, ink))
	}
	p.line("")
}

func workflowTable(rows []cost.Row) *table {
	t := newTable(column{title: "PROJECT", name: true}, column{title: "WORKFLOW", name: true}, column{title: "ATTEMPTS"}, column{title: "READ"}, column{title: "TASKS"}, column{title: "COMMANDS"},
		column{title: "VCPU HOURS", wide: true}, column{title: "GB HOURS", wide: true}, column{title: "ENGINE"}, column{title: "MACHINES"}, column{title: "USD"})
	for _, w := range rows {
		t.add(w.Project, w.Workflow, strconv.Itoa(w.Attempts), strconv.Itoa(w.Read), number(w.Tasks), number(w.Commands), quantity(w.CPUHours), quantity(w.GBHours), dollars(w.Engine), dollars(w.Machines), dollars(w.Dollars))
	}
	return t
}

func countedTable(o *costReport) *table {
	t := newTable(column{title: "SERVICE", name: true}, column{title: "UNIT", name: true}, column{title: "QUANTITY"}, column{title: "USD"})
	for _, i := range o.Counted.Items {
		t.add(i.Service, i.Type, quantity(i.Quantity), dollars(i.Dollars))
	}
	t.add("all", "", "", dollars(o.Counted.Dollars))
	return t
}

func billedTable(o *costReport) *table {
	names := map[string]string{}
	for _, w := range o.Workflows {
		names[w.ProjectID] = w.Project
	}
	t := newTable(column{title: "SERVICE", name: true}, column{title: "PROJECT", name: true}, column{title: "USD"})
	for _, l := range o.Billed.Lines {
		t.add(l.Service, projectName(names, l), dollars(l.Dollars))
	}
	all := "all"
	if o.Billed.Estimate {
		all = "all (AWS has not closed this bill yet)"
	}
	t.add(all, "", dollars(o.Billed.Dollars))
	return t
}

// projectName is that of a project with attempts in the month; of another one only the id is known.
func projectName(names map[string]string, l account.BillLine) string {
	switch name, known := names[l.ProjectID]; {
	case l.ProjectID == "":
		return "-"
	case known:
		return name
	}
	return "id " + l.ProjectID
}

// dollars shows an amount: cents, or less where there is no whole cent.
func dollars(x float64) string {
	switch {
	case x == 0:
		return "0"
	case x > 0 && x < 0.00005:
		return "<0.0001"
	case x < 0 && x > -0.00005: // a credit
		return ">-0.0001"
	case math.Abs(x) < 0.995:
		return fmt.Sprintf("%.4f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

// number shows a count, which is a fraction where it was taken from a sample.
func number(x float64) string { return strconv.FormatFloat(math.Round(x), 'f', -1, 64) }

// quantity shows one with a fraction if it is small.
func quantity(x float64) string {
	if x == 0 || math.Abs(x) >= 100 {
		return number(x)
	}
	return strconv.FormatFloat(math.Round(x*1000)/1000, 'f', -1, 64)
}
