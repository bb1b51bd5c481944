package operate

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/client"
	"zerodag/internal/term"
)

// auditPage is how many entries an export reads at once.
const auditPage = 100

// newAudit returns the command that shows the audit log.
func newAudit(s cli.Streams) *cobra.Command {
	r := &cli.Remote{Streams: s}
	f, page, export := client.AuditFilter{}, client.Page{}, false
	c := &cobra.Command{Use: "audit", Short: "Show who changed what, newest first, including refused changes",
		Long: `Show who changed what on your site, newest first, including refused changes. With --export,
write all matching entries as JSON, one object on each line, for a log archive or a SIEM.`}
	c.Flags().StringVar(&f.Who, "who", "", "only changes by the user or token with this `NAME`")
	c.Flags().StringVar(&f.Action, "action", "", "only this `ACTION`: push, start, kill, \"put secret\" ...")
	c.Flags().StringVar(&f.Target, "target", "", "only changes of objects whose description contains this `TEXT`")
	c.Flags().StringVar(&f.From, "from", "", "only changes made at this `TIME` or later: a date (midnight UTC) or an instant")
	c.Flags().StringVar(&f.To, "to", "", "only changes made before this `TIME`")
	c.Flags().BoolVar(&f.Refused, "refused", false, "only changes that were refused")
	c.Flags().IntVar(&page.Count, "count", 50, "`NUMBER` of entries, 100 at most")
	c.Flags().StringVar((*string)(&page.Last), "before", "", "only entries with ids below this `ID`")
	c.Flags().BoolVar(&export, "export", false, "write all matching entries as lines of JSON")
	return r.Command(c, 0, 0, func(ctx context.Context, _ []string) error {
		if err := r.Open(ctx); err != nil {
			return err
		}
		if export {
			return exportAudit(ctx, r, f, page.Last)
		}
		list, err := r.Audits(ctx, f, page)
		if err != nil {
			return err
		}
		if err := r.List(list, func(p cli.Printer) {
			for _, e := range list {
				p.Block("  ", "id", e.ID, "at", e.At, "who", e.Who, "with", e.With, "address", e.Address, "action", e.Action, "target", e.Target, "detail", e.Detail, "refused", e.Refused)
			}
		}, auditTable(list), "There are no such entries."); err != nil {
			return err
		}
		if len(list) > 0 && len(list) == page.Count {
			r.Hint("There may be more: add --before %s", list[len(list)-1].ID)
		}
		return nil
	})
}

func auditTable(list []client.AuditEntry) *term.Table {
	t := term.NewTable(term.Column{Title: "TIME"}, term.Column{Title: "WHO", Name: true}, term.Column{Title: "ACTION"}, term.Column{Title: "TARGET", Name: true},
		term.Column{Title: "REFUSED"}, term.Column{Title: "ADDRESS", Spare: true}, term.Column{Title: "WITH", Spare: true}, term.Column{Title: "DETAIL", Spare: true})
	for _, e := range list {
		refused := ""
		if e.Refused {
			refused = "refused"
		}
		t.Add(term.ShortTime(&e.At), e.Who, e.Action, e.Target, refused, e.Address, e.With, e.Detail)
	}
	return t
}

// exportAudit writes all entries, page by page, from the newest to the oldest.
func exportAudit(ctx context.Context, r *cli.Remote, f client.AuditFilter, last client.ID) error {
	out := json.NewEncoder(r.Out)
	out.SetEscapeHTML(false)
	for {
		list, err := r.Audits(ctx, f, client.Page{Last: last, Count: auditPage})
		if err != nil {
			return err
		}
		for _, e := range list {
			if err := out.Encode(e); err != nil {
				return fmt.Errorf("write the audit log: %w", err)
			}
			last = e.ID
		}
		if len(list) == 0 {
			return nil
		}
	}
}
