package awscost

import (
	"fmt"
	"io"
	"math"
	"strconv"

	"zerodag/internal/account"
	"zerodag/internal/cost"
	"zerodag/internal/term"
)

// Print writes a report for users, at most `columns` characters wide; 0 is unlimited. wide adds columns to the tables.
func (o *Report) Print(out io.Writer, wide bool, columns int, ink term.Palette) {
	line := func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }
	section := func(t *term.Table, none string) {
		if t.Empty() {
			line("%s", none)
		} else {
			fmt.Fprint(out, t.Text(wide, columns, ink))
		}
		line("")
	}
	until := ""
	if o.Partial {
		until = " until " + o.To.Format("2006-01-02 15:04")
	}
	line("Stage %s in %s, %s%s (UTC), in USD at list prices of %s", o.Stage, o.Region, o.Month, until, o.Prices)
	line("")
	line("Estimated: attempts by workflow")
	section(workflowTable(o.Workflows), "no attempts were created in this month")
	line("Counted by CloudWatch: the engine of the whole stage")
	if o.Counted.Known {
		section(countedTable(o), "")
	} else {
		line("unknown: %s", o.Counted.Why)
		line("")
	}
	if len(o.Fixed) > 0 {
		line("Monthly")
		t := term.NewTable(term.Column{Title: "WHAT", Name: true}, term.Column{Title: "USD"})
		for _, f := range o.Fixed {
			t.Add(f.What, dollars(f.Dollars))
		}
		section(t, "")
	}
	line("Summary")
	t := term.NewTable(term.Column{Title: "WHAT", Name: true}, term.Column{Title: "USD"})
	t.Add("workflows: engine (estimated)", dollars(o.Attributed.Engine))
	t.Add("workflows: machines (estimated)", dollars(o.Attributed.Machines))
	rest := "unknown"
	if o.Rest != nil {
		rest = dollars(*o.Rest)
	}
	t.Add("not attributed: counted minus the engine of workflows", rest)
	t.Add("total (estimated)", dollars(o.Total))
	section(t, "")
	line("Billed by AWS")
	if o.Billed.Known {
		section(billedTable(o), "")
	} else {
		line("unknown: %s", o.Billed.Why)
	}
	if o.Billed.Requests > 0 {
		line("Requests to Cost Explorer: %d, which cost $%.2f", o.Billed.Requests, o.Billed.Cost)
	}
	line("")
	for _, note := range o.Notes {
		line("- %s", note)
	}
}

func workflowTable(rows []cost.Row) *term.Table {
	t := term.NewTable(term.Column{Title: "PROJECT", Name: true}, term.Column{Title: "WORKFLOW", Name: true}, term.Column{Title: "ATTEMPTS"}, term.Column{Title: "READ"}, term.Column{Title: "TASKS"}, term.Column{Title: "COMMANDS"},
		term.Column{Title: "VCPU HOURS", Wide: true}, term.Column{Title: "GB HOURS", Wide: true}, term.Column{Title: "ENGINE"}, term.Column{Title: "MACHINES"}, term.Column{Title: "USD"})
	for _, w := range rows {
		t.Add(w.Project, w.Workflow, strconv.Itoa(w.Attempts), strconv.Itoa(w.Read), number(w.Tasks), number(w.Commands), quantity(w.CPUHours), quantity(w.GBHours), dollars(w.Engine), dollars(w.Machines), dollars(w.Dollars))
	}
	return t
}

func countedTable(o *Report) *term.Table {
	t := term.NewTable(term.Column{Title: "SERVICE", Name: true}, term.Column{Title: "UNIT", Name: true}, term.Column{Title: "QUANTITY"}, term.Column{Title: "USD"})
	for _, i := range o.Counted.Items {
		t.Add(i.Service, i.Type, quantity(i.Quantity), dollars(i.Dollars))
	}
	t.Add("all", "", "", dollars(o.Counted.Dollars))
	return t
}

func billedTable(o *Report) *term.Table {
	names := map[string]string{}
	for _, w := range o.Workflows {
		names[w.ProjectID] = w.Project
	}
	t := term.NewTable(term.Column{Title: "SERVICE", Name: true}, term.Column{Title: "PROJECT", Name: true}, term.Column{Title: "USD"})
	for _, l := range o.Billed.Lines {
		t.Add(l.Service, projectName(names, l), dollars(l.Dollars))
	}
	all := "all"
	if o.Billed.Estimate {
		all = "all (AWS has not closed this bill yet)"
	}
	t.Add(all, "", dollars(o.Billed.Dollars))
	return t
}

// projectName returns the name of a project with attempts in the month; for other projects, only the id is known.
func projectName(names map[string]string, l account.BillLine) string {
	switch name, known := names[l.ProjectID]; {
	case l.ProjectID == "":
		return "-"
	case known:
		return name
	}
	return "id " + l.ProjectID
}

// dollars shows an amount: cents, or a fraction below one cent.
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

// number shows a count, which may be a fraction if it comes from a sample.
func number(x float64) string { return strconv.FormatFloat(math.Round(x), 'f', -1, 64) }

// quantity shows a quantity, with a fraction if it is small.
func quantity(x float64) string {
	if x == 0 || math.Abs(x) >= 100 {
		return number(x)
	}
	return strconv.FormatFloat(math.Round(x*1000)/1000, 'f', -1, 64)
}
